package posting

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// attemptKept is how long the count of an entry is kept that nobody tries any more, in milliseconds: it was settled
// from a copy.
const attemptKept = 24 * 3_600_000

// Attempted is what has become of an entry that was refused.
type Attempted struct {
	Attempts int          // tries so far, this one included
	GivenUp  bool         // that was the last: nothing of the entry is left to be posted
	Dead     []DeadLetter // what this call has put aside for a person
}

// Attempt counts a try of posting an entry that has failed because of the entry, and not because the ledger could
// not be reached. With try number limit it is given up: what is not in the ledger of its wins and its reclaim
// becomes dead letters with cause as their reason, and the entry can be removed from its outbox like a posted one.
func (p *Poster) Attempt(ctx context.Context, e rain.Entry, cause error, limit int) (tried Attempted, err error) {
	unlock, err := p.locks.lock(ctx, []rain.Entry{e}) // else a copy of it might be posted while it is given up
	if err != nil {
		return Attempted{}, fmt.Errorf("waiting for the worker that posts the same outbox entry: %w", err)
	}
	defer unlock()
	err = p.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		tried = Attempted{}
		if tried.Attempts, err = p.countAttempt(ctx, tx, e, cause); err != nil || tried.Attempts < limit {
			return err
		}
		tried.GivenUp = true
		tried.Dead, err = p.giveUp(ctx, tx, e, fmt.Sprintf("given up after %d tries: %s", tried.Attempts, cause))
		return err
	})
	if err != nil {
		return Attempted{}, fmt.Errorf("counting a try of outbox entry %s: %w", e.Ref, err)
	}
	return tried, nil
}

var attemptColumns = []string{"entry", "attempts", "last_error", "last_at"}

// countAttempt returns the number of the try.
func (p *Poster) countAttempt(ctx context.Context, tx *sqldb.Tx, e rain.Entry, cause error) (n int, err error) {
	name, now := letterSource(e.Ref.String()), p.clock()
	err = tx.Insert(ctx, "attempt", attemptColumns, [][]any{{name, 1, sqldb.Storable(cause.Error(), MaxReason), now}},
		sqldb.Merge{Key: attemptColumns[:1], Add: attemptColumns[1:2], Set: attemptColumns[2:]})
	if err != nil {
		return 0, err
	}
	if _, err := tx.First(ctx, []any{&n}, "SELECT attempts FROM attempt WHERE entry = ?", name); err != nil || n > 1 {
		return n, err
	}
	rows := make([][]any, len(e.Wins))
	for i, w := range e.Wins {
		d := winLetter(e.Ref, e.SealedAt, w, position{}, "") // as fits the columns
		rows[i] = []any{name, i, d.Campaign, d.Packet, d.User}
	}
	columns := []string{"entry", "line_no", "campaign_id", "packet", "user_id"}
	if err := tx.Insert(ctx, "attempt_claim", columns, rows, sqldb.Merge{Key: columns[:2]}); err != nil {
		return 0, err
	}
	return n, p.pruneAttempts(ctx, tx, now-attemptKept)
}

func (p *Poster) pruneAttempts(ctx context.Context, tx *sqldb.Tx, before int64) error {
	old, err := sqldb.Column[string](ctx, tx, "SELECT entry FROM attempt WHERE last_at < ? LIMIT ?", before,
		sqldb.Chunk)
	if err != nil {
		return err
	}
	return deleteAttempts(ctx, tx, old)
}

// giveUp buries what the ledger does not have of an entry. The escrow is locked, so that what another worker has
// posted of a copy is seen.
func (p *Poster) giveUp(ctx context.Context, tx *sqldb.Tx, e rain.Entry, reason string) ([]DeadLetter, error) {
	b, err := p.readBatch(ctx, tx, []rain.Entry{e}, careful)
	if err != nil {
		return nil, err
	}
	b.classify(e)
	letters := b.letters // these contradict the ledger: that is their reason
	for _, w := range b.wins {
		letters = append(letters, winLetter(e.Ref, e.SealedAt, w.win, w.position, reason))
	}
	if len(b.reclaims) > 0 {
		letters = append(letters, reclaimLetter(e, b.reclaims[0].position, reason))
	}
	if err := WriteLetters(ctx, tx, slices.Concat(letters, b.voids), p.clock()); err != nil {
		return nil, err
	}
	return letters, deleteAttempts(ctx, tx, []string{letterSource(e.Ref.String())})
}

// ForgetAttempts forgets how often entries were tried, because they are in the ledger now.
func (p *Poster) ForgetAttempts(ctx context.Context, refs []rain.EntryRef) error {
	failing, err := p.Failing(ctx, refs)
	if err != nil || len(failing) == 0 {
		return err
	}
	var tried []string
	for ref := range failing {
		tried = append(tried, letterSource(ref.String()))
	}
	return p.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error { return deleteAttempts(ctx, tx, tried) })
}

func deleteAttempts(ctx context.Context, tx *sqldb.Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names) // in key order, as everything that several workers lock
	for _, table := range []string{"attempt", "attempt_claim"} {
		if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE entry IN "+sqldb.Marks(len(names)),
			sqldb.Args(names)...); err != nil {
			return fmt.Errorf("tries of outbox entries: %w", err)
		}
	}
	return nil
}

// Failing tells which of some outbox entries were refused, and are tried again.
func (p *Poster) Failing(ctx context.Context, refs []rain.EntryRef) (map[rain.EntryRef]bool, error) {
	byName := make(map[string]rain.EntryRef, len(refs))
	for _, ref := range refs {
		byName[letterSource(ref.String())] = ref
	}
	failing := map[rain.EntryRef]bool{}
	err := sqldb.EachIn(ctx, p.db, func(scan sqldb.Scan) error {
		var name string
		err := scan(&name)
		failing[byName[name]] = true
		return err
	}, "SELECT entry FROM attempt WHERE entry IN", slices.Collect(maps.Keys(byName)))
	return failing, sqldb.Wrap(err, "tries of outbox entries")
}
