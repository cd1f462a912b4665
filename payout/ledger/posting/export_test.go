package posting

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Constants for the tests of this package.
const (
	AttemptKept     = attemptKept
	BarrierMarginMS = barrierMarginMS
	FarFutureMS     = farFutureMS
	AssignedPage    = assignedPage
	MostUnpayable   = mostUnpayable
)

// Batch is a posting before its writes.
type Batch struct{ *batch }

// ReadBatch reads the ledger's state for entries.
func (p *Poster) ReadBatch(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, anxious bool) (Batch, error) {
	with := thorough
	if anxious {
		with = careful
	}
	b, err := p.readBatch(ctx, tx, entries, with)
	return Batch{b}, err
}

// NewBatch is a batch with a campaign and no other reads.
func NewBatch(c *rain.Campaign) Batch {
	amounts, err := rain.NewAmounts(c)
	if err != nil {
		panic(err)
	}
	return Batch{&batch{
		campaigns: map[string]terms{c.ID: {Campaign: c, amounts: amounts}},
		paid:      map[packetKey]Holder{}, totals: map[string]Totals{},
	}}
}

// Write writes the decisions.
func (p *Poster) Write(ctx context.Context, tx *sqldb.Tx, b Batch) (Posted, error) {
	return p.write(ctx, tx, b.batch)
}

// Classify decides the outcome of entries.
func (b Batch) Classify(entries ...rain.Entry) { b.classify(entries...) }

// Letters returns the decided dead letters.
func (b Batch) Letters() []DeadLetter { return b.letters }

// Settled returns the decided settlements.
func (b Batch) Settled() []Settlement { return b.settled }

// StillInBounds checks for a new fence or reclaim.
func (b Batch) StillInBounds(ctx context.Context, tx *sqldb.Tx) error {
	return b.stillInBounds(ctx, tx)
}

// GiveUp makes dead letters of an entry.
func (p *Poster) GiveUp(ctx context.Context, tx *sqldb.Tx, e rain.Entry, reason string) ([]DeadLetter, error) {
	return p.giveUp(ctx, tx, e, reason)
}

// LateLetter makes the dead letter of an entry's first win.
func LateLetter(e rain.Entry, reason string) DeadLetter {
	ms, seq, _ := e.Ref.Position()
	return winLetter(e.Ref, e.SealedAt, e.Wins[0], position{ref: e.Ref, ms: ms, seq: seq}, reason)
}

// LockEntries locks entries.
func (p *Poster) LockEntries(ctx context.Context, entries ...rain.Entry) (unlock func(), err error) {
	return p.locks.lock(ctx, entries)
}

// Locked counts the locked entries.
func (p *Poster) Locked() int { return len(p.locks.busy) }

// MostUnsealed is the limit of dead letters with an invalid seal.
const MostUnsealed = mostUnsealed
