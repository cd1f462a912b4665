package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// Depth is how closely a reconciliation looks.
type Depth int

// The depths.
const (
	// Sums compares the numbers of the packets in Redis with the totals that the ledger keeps, and reads the rows only
	// if these do not fit.
	Sums Depth = iota
	// Rows reads every row: each transaction with its lines, its hash and what it was for, each payout with the split,
	// each balance with its entries, and each win that Redis knows with the ledger.
	Rows
)

// campaignReader reads a campaign, also one whose row makes no sense; [ledger.Campaigns] is one.
type campaignReader interface {
	CampaignAsStored(ctx context.Context, id string) (*rain.Campaign, error)
}

// Reconciler proves the books. It changes nothing. It is safe for concurrent use.
type Reconciler struct {
	db        *sqldb.DB
	campaigns campaignReader
	clock     rain.Clock
	gauge     *reconcileGauges
	recoverer *loop.Recoverer
	stretch   int // how many rows one statement adds up
	hotLimit  time.Duration
}

// viewLimit is how long one view may take. The rows of the largest campaign take some minutes.
const viewLimit = 30 * time.Minute

// hotLimit is how long the state and the outboxes of a campaign may take to be read from Redis: hundreds of thousands
// of entries take some seconds.
const hotLimit = time.Minute

// sumAtOnce is how many rows one statement adds up, so that none takes longer than a connection waits for its answer.
const sumAtOnce = 250_000

// New makes a reconciler of a ledger's database. campaigns reads campaigns; clock gives the times of proofs. recoverer
// gets the panics of proofs, nil: they are logged only.
func New(db *sqldb.DB, campaigns campaignReader, clock rain.Clock, recoverer *loop.Recoverer) *Reconciler {
	return &Reconciler{db: db, campaigns: campaigns, clock: clock, gauge: newReconcileGauges(), recoverer: recoverer,
		stretch: sumAtOnce, hotLimit: hotLimit}
}

// ReconcileWith compares what Redis has of a campaign with the ledger, and checks every row of the ledger that belongs
// to the campaign: that each packet is in exactly one place, that each transaction sums to zero and is what its payouts
// say, that each payout is what the split says, that balances are the sums of their entries, that the totals are those
// of the rows. With Rows it holds every win that Redis knows against the ledger too. The error is ErrHot where Redis
// cannot be read.
//
// It is exact also while packets are won, moved and paid: it reads the campaign, then each shard at one moment, then
// the outboxes up to those moments, then the ledger. What the ledger has posted from entries newer than a shard's
// snapshot is still stock in that snapshot and is left out; what stood in the outbox, and is posted by now, counts as
// paid. moves.go says how stock that moves is counted.
//
// A drained campaign is proved by the ledger alone; its wins in Redis are compared as long as Redis has them.
func (s *Reconciler) ReconcileWith(ctx context.Context, id string, hot Hot, depth Depth) (Reconciliation, error) {
	return s.reconcileWith(ctx, id, hot, look{rows: depth != Sums, txns: true})
}

// reconcileWith begins anew where a shard was rebuilt between two looks at it. A proof that panics is a finding:
// what it has met hides neither another campaign nor itself.
func (s *Reconciler) reconcileWith(ctx context.Context, id string, hot Hot, how look) (Reconciliation, error) {
	how.stretch = s.stretch
	began := s.clock()
	for try := 1; ; try++ {
		how.last = try == tries
		var r *campaignCheck
		err := s.recoverer.Try("reconciliation", func() (err error) {
			r, err = s.once(ctx, id, hot, how)
			return err
		})
		if errors.Is(err, loop.ErrPanic) {
			r, err = brokenOff(id, err), nil
		}
		if errors.Is(err, errStale) && !how.last {
			continue
		}
		if err != nil {
			return Reconciliation{}, fmt.Errorf("reconciling campaign %s: %w", id, err)
		}
		result := r.result()
		result.CheckedAt = s.clock()
		result.TookMS = result.CheckedAt - began
		s.gauge.note(id, fault{result.Difference, len(result.Findings)})
		return result, nil
	}
}

// brokenOff is the proof of a campaign over which this program breaks.
func brokenOff(id string, why error) *campaignCheck {
	r := newCampaignCheck(&rain.Campaign{ID: id, Fault: "it was not looked at"}, nil, look{})
	r.found = findings{}
	r.found.add("a proof that broke off", why.Error(), "the proof of the campaign broke off, so nothing of it is "+
		"proved: %v", why)
	return r
}

// errDoubt says that sums do not fit.
var errDoubt = errors.New("the sums do not fit")

// once reconciles a campaign. If its sums do not fit, it reads all rows.
func (s *Reconciler) once(ctx context.Context, id string, hot Hot, how look) (*campaignCheck, error) {
	r, err := s.look(ctx, id, hot, how)
	if errors.Is(err, errDoubt) {
		how.rows, how.txns = true, true
		r, err = s.look(ctx, id, hot, how)
	}
	return r, err
}

// look reads a campaign, what Redis has of it, and what the ledger has.
func (s *Reconciler) look(ctx context.Context, id string, hot Hot, how look) (*campaignCheck, error) {
	c, err := s.campaigns.CampaignAsStored(ctx, id)
	if err != nil {
		return nil, err
	}
	if r := newCampaignCheck(c, nil, how); r.amounts == nil {
		return r, s.db.View(ctx, viewLimit, r.readBooks)
	}
	removed, err := chain.Removed(ctx, s.db, []string{id})
	if err != nil {
		return nil, err
	}
	if removed[id] {
		r := newCampaignCheck(c, nil, how)
		return r, s.db.View(ctx, viewLimit, r.readRemoved)
	}
	// Redis after the campaign and before the ledger: the ledger then leaves out what is newer than this.
	reading, cancel := context.WithTimeout(ctx, s.hotLimit)
	defer cancel()
	r, err := readHot(reading, c, hot, how)
	switch {
	case err == nil:
	case !c.Drained:
		return nil, fmt.Errorf("%w: %w", ErrHot, err)
	default:
		r = newCampaignCheck(c, nil, how)
	}
	return r, s.db.View(ctx, viewLimit, r.read)
}

// readHot reads what the shards and the outboxes have.
func readHot(ctx context.Context, c *rain.Campaign, hot Hot, how look) (*campaignCheck, error) {
	shards, err := hot.Snapshot(ctx, c)
	if err != nil {
		return nil, err
	}
	how.hot = hot
	r := newCampaignCheck(c, shards, how)
	err = r.readOutbox(ctx)
	return r, err
}

// read takes everything from the ledger, as of one moment.
func (r *campaignCheck) read(ctx context.Context, tx *sqldb.Tx) error {
	if removed, err := chain.Removed(ctx, tx, []string{r.campaign.ID}); err != nil || len(removed) > 0 {
		return cmp.Or(err, errStale) // its payouts have begun to be removed since Redis was read
	}
	steps := []step{r.checkSettings, r.readEpochs, r.readReclaims, r.readMoves, r.place, r.readLetters}
	if r.look.rows {
		steps = append(steps, r.checkPayouts)
	} else {
		steps = append(steps, r.readPaid, r.readTally)
	}
	steps = append(steps, r.placeReclaims, r.checkEscrow, r.checkTally, r.readHeld, r.checkLater, r.checkShards)
	if err := r.run(ctx, tx, steps); err != nil {
		return err
	}
	if !r.look.rows {
		if r.suspect || r.sums().Difference != 0 || len(r.found.texts) > 0 || r.counted() && !r.fits() {
			return errDoubt
		}
		return r.run(ctx, tx, []step{r.compareOutbox})
	}
	if r.look.txns {
		steps = []step{r.checkTxns}
	} else {
		steps = nil
	}
	return r.run(ctx, tx, append(steps, r.checkBorrowed, r.compareOutbox, r.compareRecords, r.checkForgotten))
}

// readBooks is read for a campaign whose row makes no sense: which packets it has, and what they hold, is not known. So
// the sums and the transactions are proved, and Redis is not asked.
func (r *campaignCheck) readBooks(ctx context.Context, tx *sqldb.Tx) error {
	r.look.rows, r.look.txns, r.look.hot = true, true, nil
	return r.run(ctx, tx, []step{r.readReclaims, r.readLetters, r.checkPayouts, r.checkEscrow, r.checkTally, r.readHeld,
		r.checkTxns})
}

// step is a part of a reconciliation.
type step func(context.Context, sqldb.Querier) error

// run takes steps one after the other. Rows that make a step fail are a finding, and hide nothing that the others find.
func (r *campaignCheck) run(ctx context.Context, q sqldb.Querier, steps []step) error {
	for n, step := range steps {
		err := step(ctx, q)
		if sqldb.IsUnreadable(err) {
			r.found.add("rows that cannot be read", fmt.Sprint(n, err), "rows of the campaign cannot be read or added "+
				"up, so somebody has changed them: %v", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
