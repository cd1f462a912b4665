package posting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/internal/seal"
	"redrain/internal/sqldb"
	"redrain/rain"
)

// Seals are the keys of this installation's seals, stored in the ledger's database.
type Seals struct {
	Recoverer *loop.Recoverer // of Run; nil: panics are logged only

	db    *sqldb.DB
	ring  *seal.Ring
	clock rain.Clock
}

// NewSeals makes the seals for a migrated database. Call Load before the first use, and Run if other nodes may rotate
// the key.
func NewSeals(db *sqldb.DB, clock rain.Clock) *Seals {
	return &Seals{db: db, ring: seal.NewRing(seal.NewSecret()), clock: clock}
}

// Ring seals with the newest key, and verifies with it and the one before.
func (s *Seals) Ring() *seal.Ring { return s.ring }

// Load reads the valid keys.
func (s *Seals) Load(ctx context.Context) error {
	_, err := s.read(ctx, s.db)
	return err
}

// RefreshSeals reads the valid keys after an invalid seal: another node may have used a newer key.
func (p *Poster) RefreshSeals(ctx context.Context) error { return p.seals.Load(ctx) }

// read reads the valid keys into the ring, and returns a new ring with only these.
func (s *Seals) read(ctx context.Context, q sqldb.Querier) (*seal.Ring, error) {
	const valid = 2
	secrets, err := sqldb.List(ctx, q, scanSecret, "SELECT secret FROM seal_key ORDER BY id DESC LIMIT ?", valid)
	if err == nil && len(secrets) == 0 {
		err = fmt.Errorf("none found: run redrain migrate, which makes one")
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the seals: %w", err)
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
		return secret, fmt.Errorf("got %d bytes, want %d", len(raw), len(secret))
	}
	return seal.Secret(raw), nil
}

const (
	// readKeysEvery is the interval of a node's search for newer keys.
	readKeysEvery = 5 * time.Second
	// rotateNotBefore is the least age of a key before the next one. By then every node has it, and entries with the
	// previous key are posted.
	rotateNotBefore = time.Minute
)

// ErrRotatedJustNow means that the newest key is too new for a rotation.
var ErrRotatedJustNow = errors.New("the key of the seals was changed less than a minute ago, and not every node may " +
	"have it")

// Run reads the keys periodically until ctx ends, because another node may have made a new one.
func (s *Seals) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "seals", Work: "read the keys of the seals", Every: readKeysEvery,
		Do: s.Load, Recoverer: s.Recoverer})
}

// Rotate makes a new key for all new seals, and returns its number. Seals of the previous key stay valid. Entries
// with older ones become dead letters. It fails with ErrRotatedJustNow if the newest key is too new.
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
		return 0, fmt.Errorf("make a new key for the seals: %w", err)
	}
	return number, s.Load(ctx)
}

// doubted returns nil if all seals of entries are valid, else the ring to verify each of them. If one is invalid, it
// reads the keys first, because another node may have used a newer one.
func (s *Seals) doubted(ctx context.Context, q sqldb.Querier, entries []rain.Entry) (*seal.Ring, error) {
	if allSealed(s.ring, entries) {
		return nil, nil
	}
	return s.read(ctx, q)
}

// ever returns a ring of all keys, also old ones. An operator may retry an entry that was sealed long ago.
func (s *Seals) ever(ctx context.Context, q sqldb.Querier) (*seal.Ring, error) {
	secrets, err := sqldb.List(ctx, q, scanSecret, "SELECT secret FROM seal_key ORDER BY id DESC")
	if err != nil {
		return nil, fmt.Errorf("read the keys of the seals: %w", err)
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

// isSealedWin and isSealedReclaim verify a seal. Without a ring it is valid.
func isSealedWin(ring *seal.Ring, e *rain.Entry, w *rain.Win) bool {
	return ring == nil || ring.CheckTap(w.Seal, e.Ref.Campaign, w.User, w.Drop, e.SealedAt)
}

func isSealedReclaim(ring *seal.Ring, e *rain.Entry) bool {
	return ring == nil || ring.CheckClosing(e.Reclaim.Seal, e.Ref.Campaign, e.Ref.Shard, e.SealedAt)
}
