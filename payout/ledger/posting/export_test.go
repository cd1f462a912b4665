package posting

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// What the tests of this package reach into.
const (
	AttemptKept     = attemptKept
	BarrierMarginMS = barrierMarginMS
	FarFutureMS     = farFutureMS
	AssignedPage    = assignedPage
)

// Batch is a posting before anything of it is written.
type Batch struct{ *batch }

// ReadBatch reads what the ledger knows of entries.
func (p *Poster) ReadBatch(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, careful bool) (Batch, error) {
	b, err := readBatch(ctx, tx, p.splits, entries, careful)
	return Batch{b}, err
}

// NewBatch is what a node knows of the campaign c1 that has read nothing else.
func NewBatch() Batch {
	return Batch{&batch{
		campaigns: map[string]terms{"c1": {sponsor: "acme", budget: 100, packets: 10, shards: 1}},
		paid:      map[packetKey]Holder{}, totals: map[string]Totals{},
	}}
}

// Write carries out what was decided.
func (p *Poster) Write(ctx context.Context, tx *sqldb.Tx, b Batch) (Posted, error) {
	return p.write(ctx, tx, b.batch)
}

// Classify decides what becomes of entries.
func (b Batch) Classify(entries ...rain.Entry) { b.classify(entries...) }

// Letters are those that were decided on.
func (b Batch) Letters() []DeadLetter { return b.letters }

// Settled are the settlements that were decided on.
func (b Batch) Settled() []Settlement { return b.settled }

// StillSameEpoch looks for a fence that has come up.
func (b Batch) StillSameEpoch(ctx context.Context, tx *sqldb.Tx) error {
	return b.stillSameEpoch(ctx, tx)
}

// GiveUp buries an entry.
func (p *Poster) GiveUp(ctx context.Context, tx *sqldb.Tx, e rain.Entry, reason string) ([]DeadLetter, error) {
	return p.giveUp(ctx, tx, e, reason)
}

// LateLetter is the letter of an entry's first win.
func LateLetter(e rain.Entry, reason string) DeadLetter {
	ms, seq, _ := e.Ref.Position()
	return winLetter(e.Ref, e.Wins[0], position{ref: e.Ref, ms: ms, seq: seq}, reason)
}

// LockEntries takes entries in hand.
func (p *Poster) LockEntries(ctx context.Context, entries ...rain.Entry) (unlock func(), err error) {
	return p.locks.lock(ctx, entries)
}

// Locked is how many entries are in hand.
func (p *Poster) Locked() int { return len(p.locks.busy) }
