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
	MostHopeless    = mostUnpayable
)

// Batch is a posting before anything of it is written.
type Batch struct{ *batch }

// ReadBatch reads what the ledger knows of entries.
func (p *Poster) ReadBatch(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, anxious bool) (Batch, error) {
	with := thorough
	if anxious {
		with = careful
	}
	b, err := p.readBatch(ctx, tx, entries, with)
	return Batch{b}, err
}

// NewBatch is what a node knows of a campaign that has read nothing else.
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

// StillInBounds looks for a fence that has come up, and for what was given back.
func (b Batch) StillInBounds(ctx context.Context, tx *sqldb.Tx) error {
	return b.stillInBounds(ctx, tx)
}

// GiveUp buries an entry.
func (p *Poster) GiveUp(ctx context.Context, tx *sqldb.Tx, e rain.Entry, reason string) ([]DeadLetter, error) {
	return p.giveUp(ctx, tx, e, reason)
}

// LateLetter is the letter of an entry's first win.
func LateLetter(e rain.Entry, reason string) DeadLetter {
	ms, seq, _ := e.Ref.Position()
	return winLetter(e.Ref, e.SealedAt, e.Wins[0], position{ref: e.Ref, ms: ms, seq: seq}, reason)
}

// LockEntries takes entries in hand.
func (p *Poster) LockEntries(ctx context.Context, entries ...rain.Entry) (unlock func(), err error) {
	return p.locks.lock(ctx, entries)
}

// Locked is how many entries are in hand.
func (p *Poster) Locked() int { return len(p.locks.busy) }

// MostUnsealed is how many letters are kept of what nobody has sealed.
const MostUnsealed = mostUnsealed
