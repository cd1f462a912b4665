package posting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/loop"
	"redrain/internal/seal"
	"redrain/internal/sqldb"
	"redrain/rain"
)

// Seals are the keys of this installation's seals, which the ledger's database keeps.
type Seals struct {
	Recoverer *loop.Recoverer // of Run; nil: panics are logged only

	db    *sqldb.DB
	ring  *seal.Ring
	clock rain.Clock
	log   *slog.Logger
}

// NewSeals makes the seals of a migrated database. Load them before they are used, and Run them where others may rotate
// the key.
func NewSeals(db *sqldb.DB, clock rain.Clock) *Seals {
	return &Seals{db: db, ring: seal.NewRing(seal.NewSecret()), clock: clock, log: slog.Default()}
}

// Ring seals with the newest key, and takes what is sealed with it or the one before.
func (s *Seals) Ring() *seal.Ring { return s.ring }

// Load reads the keys that are valid now.
func (s *Seals) Load(ctx context.Context) error {
	_, err := s.read(ctx, s.db)
	return err
}

// RefreshSeals reads the keys that are valid now, because something was met whose seal is wrong: another node may have
// sealed it with a newer one.
func (p *Poster) RefreshSeals(ctx context.Context) error { return p.seals.Load(ctx) }

// read reads the keys that are valid into the ring, and returns another ring of just these.
func (s *Seals) read(ctx context.Context, q sqldb.Querier) (*seal.Ring, error) {
	const valid = 2
	secrets, err := sqldb.List(ctx, q, scanSecret, "SELECT secret FROM seal_key ORDER BY id DESC LIMIT ?", valid)
	if err == nil && len(secrets) == 0 {
		err = fmt.Errorf("there is none; the migration makes one: run redrain migrate")
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the seals: %w", err)
	}
	s.ring.Replace(secrets...)
	return seal.NewRing(secrets...), nil
}

func scanSecret(scan sqldb.Scan) (secret seal.Secret, err error) {
	var raw []byte
	if err := scan(&raw); err != nil {
		return secret, err
	}
	if len(raw) != len(secret) {
		return secret, fmt.Errorf("it has %d bytes, want %d", len(raw), len(secret))
	}
	return seal.Secret(raw), nil
}

const (
	// readKeysEvery is how often a node looks for newer keys.
	readKeysEvery = 5 * time.Second
	// rotateNotBefore is how long a key has to be in use before the next one: by then every node has it, and what was
	// sealed with the one before is posted.
	rotateNotBefore = time.Minute
)

// ErrRotatedJustNow says that the newest key is too new for another one.
var ErrRotatedJustNow = errors.New("the key of the seals was changed less than a minute ago, and not every node may " +
	"have it")

// Run reads the keys again and again until ctx ends, because another node may have made a new one.
func (s *Seals) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "seals", Work: "reading the keys of the seals", Every: readKeysEvery,
		Do: s.Load, Recoverer: s.Recoverer, Log: s.log})
}

// Rotate makes a new key, with which everything is sealed from now on. What is sealed with the one before is still
// good, and what is sealed with older ones waits for a person. It returns the key's number; ErrRotatedJustNow where the
// newest one is too new.
func (s *Seals) Rotate(ctx context.Context) (number int64, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var made int64
		_, err := tx.First(ctx, []any{&number, &made}, "SELECT id, created_at FROM seal_key ORDER BY id DESC LIMIT 1"+
			tx.ForUpdate())
		if err != nil {
			return err
		}
		now := s.clock()
		if now-made < rotateNotBefore.Milliseconds() {
			return ErrRotatedJustNow
		}
		number++
		secret := seal.NewSecret()
		_, err = tx.Exec(ctx, "INSERT INTO seal_key (id, secret, created_at) VALUES (?, ?, ?)", number, secret[:], now)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("making a new key for the seals: %w", err)
	}
	return number, s.Load(ctx)
}

// doubted returns nil if all seals of entries are right, else the ring to check each of them with. It reads the keys
// first: another node may have sealed with a newer one.
func (s *Seals) doubted(ctx context.Context, q sqldb.Querier, entries []rain.Entry) (*seal.Ring, error) {
	if allSealed(s.ring, entries) {
		return nil, nil
	}
	return s.read(ctx, q)
}

// ever returns a ring of every key that there ever was. An entry that was sealed long ago, and could not be posted
// since, is still this installation's own.
func (s *Seals) ever(ctx context.Context, q sqldb.Querier) (*seal.Ring, error) {
	secrets, err := sqldb.List(ctx, q, scanSecret, "SELECT secret FROM seal_key ORDER BY id DESC")
	if err != nil {
		return nil, fmt.Errorf("the keys of the seals: %w", err)
	}
	return seal.NewRing(secrets...), nil
}

func allSealed(ring *seal.Ring, entries []rain.Entry) bool {
	for i := range entries {
		e := &entries[i]
		for j := range e.Wins {
			if !isSealedWin(ring, e, &e.Wins[j]) {
				return false
			}
		}
		if e.Reclaim != nil && !isSealedReclaim(ring, e) {
			return false
		}
	}
	return true
}

// isSealedWin and isSealedReclaim check a seal. Without a ring it is right.
func isSealedWin(ring *seal.Ring, e *rain.Entry, w *rain.Win) bool {
	return ring == nil || ring.CheckTap(w.Seal, e.Ref.Campaign, w.User, w.Drop, e.SealedAt)
}

func isSealedReclaim(ring *seal.Ring, e *rain.Entry) bool {
	return ring == nil || ring.CheckClosing(e.Reclaim.Seal, e.Ref.Campaign, e.Ref.Shard, e.SealedAt)
}
