package posting

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// attemptKept is the age in milliseconds at which the count of an entry is deleted. Such an entry was settled from a
// copy.
const attemptKept = 24 * 3_600_000

// Attempted is the result of a refused try.
type Attempted struct {
	Attempts int          // tries so far, including this one
	GivenUp  bool         // it was the last try: the entry has nothing left to be posted
	Dead     []DeadLetter // new dead letters of this call
}

// Attempt counts a failed try of an entry that is the cause of the failure. Failures of the database are not counted.
// At try number limit, the entry's wins and reclaim that are not in the ledger become dead letters with cause as
// their reason. Then the entry can be removed from its outbox like a posted one.
func (p *Poster) Attempt(ctx context.Context, e rain.Entry, cause error, limit int) (tried Attempted, err error) {
	unlock, err := p.locks.lock(ctx, []rain.Entry{e}) // a copy of the entry must not be posted meanwhile
	if err != nil {
		return Attempted{}, fmt.Errorf("wait for the worker that posts the same outbox entry: %w", err)
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
		return Attempted{}, fmt.Errorf("count a try of outbox entry %s: %w", e.Ref, err)
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
		d := winLetter(e.Ref, e.SealedAt, w, entryAt{}, "") // with texts that fit the columns
		rows[i] = []any{name, i, d.Campaign, d.Packet, d.User}
	}
	columns := []string{"entry", "line_no", "campaign_id", "packet", "user_id"}
	if err := tx.Insert(ctx, "attempt_claim", columns, rows, sqldb.Merge{Key: columns[:2]}); err != nil {
		return 0, err
	}
	old, err := sqldb.Column[string](ctx, tx, "SELECT entry FROM attempt WHERE last_at < ? LIMIT ?", now-attemptKept,
		sqldb.Chunk)
	if err != nil {
		return 0, err
	}
	return n, deleteAttempts(ctx, tx, old)
}

// giveUp makes dead letters of the wins and the reclaim that the ledger does not have. It locks the escrow, so it
// sees the copies that other workers have posted.
func (p *Poster) giveUp(ctx context.Context, tx *sqldb.Tx, e rain.Entry, reason string) ([]DeadLetter, error) {
	b, err := p.readBatch(ctx, tx, []rain.Entry{e}, careful)
	if err != nil {
		return nil, err
	}
	b.classify(e)
	letters := b.letters // they contradict the ledger, which is their reason
	for _, w := range b.wins {
		letters = append(letters, winLetter(e.Ref, e.SealedAt, w.win, w.entryAt, reason))
	}
	if len(b.reclaims) > 0 {
		letters = append(letters, reclaimLetter(e, b.reclaims[0].entryAt, reason))
	}
	if err := WriteLetters(ctx, tx, slices.Concat(letters, b.voids), p.clock()); err != nil {
		return nil, err
	}
	return letters, deleteAttempts(ctx, tx, []string{letterSource(e.Ref.String())})
}

// ForgetAttempts deletes the counts of entries that are in the ledger now.
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
	slices.Sort(names) // in key order, as all rows that several workers lock
	for _, table := range []string{"attempt", "attempt_claim"} {
		if _, err := sqldb.ExecIn(ctx, tx, "DELETE FROM "+table+" WHERE entry IN", names); err != nil {
			return fmt.Errorf("delete the counts of tries: %w", err)
		}
	}
	return nil
}

// Failing reports which of the outbox entries were refused and are tried again.
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
	return failing, sqldb.Wrap(err, "read the counts of tries")
}
