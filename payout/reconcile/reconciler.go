package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Depth is how closely a reconciliation looks.
type Depth int

// The depths.
const (
	// Sums compares the numbers of the packets in Redis with counts and sums of what the ledger has, and looks at the
	// rows only where these do not fit.
	Sums Depth = iota
	// Rows looks at every row: each transaction with its lines and what it was for, each payout with the split,
	// each balance with its entries, and each win that Redis knows with the ledger.
	Rows
)

// campaignReader reads a campaign; [ledger.Campaigns] is one.
type campaignReader interface {
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
}

// Reconciler proves the books. It changes nothing. It is safe for concurrent use.
type Reconciler struct {
	db        *sqldb.DB
	campaigns campaignReader
	clock     rain.Clock
	gauge     reconcileGauges
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

// New makes a reconciler of a ledger's database. campaigns reads campaigns; clock gives Books.CheckedAt.
func New(db *sqldb.DB, campaigns campaignReader, clock rain.Clock) *Reconciler {
	return &Reconciler{db: db, campaigns: campaigns, clock: clock, gauge: newReconcileGauges(), stretch: sumAtOnce,
		hotLimit: hotLimit}
}

// Register adds the metrics redrain_reconcile_difference and redrain_reconcile_findings.
func (s *Reconciler) Register(r prometheus.Registerer) error { return s.gauge.register(r) }

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
	return s.reconcileWith(ctx, id, hot, look{rows: depth == Rows, txns: true})
}

// reconcileWith begins anew where a shard was rebuilt between two looks at it.
func (s *Reconciler) reconcileWith(ctx context.Context, id string, hot Hot, how look) (Reconciliation, error) {
	how.stretch = s.stretch
	for try := 1; ; try++ {
		how.last = try == tries
		r, err := s.once(ctx, id, hot, how)
		if errors.Is(err, errStale) && !how.last {
			continue
		}
		if err != nil {
			return Reconciliation{}, fmt.Errorf("reconciling campaign %s: %w", id, err)
		}
		result := r.result()
		s.gauge.reconciled(id, result)
		return result, nil
	}
}

func (s *Reconciler) once(ctx context.Context, id string, hot Hot, how look) (*campaignCheck, error) {
	c, err := s.campaigns.Campaign(ctx, id)
	if err != nil {
		return nil, err
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
	steps := []func(context.Context, sqldb.Querier) error{
		r.checkSettings, r.readEpochs, r.readReclaims, r.readMoves, r.place, r.readLetters, r.placeReclaims, r.readPaid,
		r.readPayouts,
		r.checkEscrow, r.checkTally,
	}
	if err := run(ctx, tx, steps); err != nil {
		return err
	}
	r.checkShards()
	if sums := r.sums(); r.suspect || sums.Difference != 0 || len(r.found.texts) > 0 {
		r.look.rows, r.look.txns = true, true
	}
	steps = nil
	if r.look.rows && r.look.txns {
		steps = append(steps, r.checkTxns)
	}
	if r.look.rows {
		steps = append(steps, r.checkPayouts, r.checkNumbers, r.checkBorrowed)
	}
	steps = append(steps, r.compareOutbox)
	if r.look.rows {
		steps = append(steps, r.compareRecords, r.checkForgotten)
	}
	return run(ctx, tx, steps)
}

func run(ctx context.Context, q sqldb.Querier, steps []func(context.Context, sqldb.Querier) error) error {
	for _, step := range steps {
		if err := step(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
