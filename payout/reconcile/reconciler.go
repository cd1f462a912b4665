package reconcile

import (
	"context"
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
	// Sums compares the sums, and looks at the rows only where the sums do not fit.
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
}

// viewLimit is how long one view may take. The rows of the largest campaign take some minutes.
const viewLimit = 30 * time.Minute

// sumAtOnce is how many rows one statement adds up, so that none takes longer than a connection waits for its answer.
const sumAtOnce = 250_000

// New makes a reconciler of a ledger's database. campaigns reads campaigns; clock gives Books.CheckedAt.
func New(db *sqldb.DB, campaigns campaignReader, clock rain.Clock) *Reconciler {
	return &Reconciler{db: db, campaigns: campaigns, clock: clock, gauge: newReconcileGauges(), stretch: sumAtOnce}
}

// Register adds the metrics redrain_reconcile_difference and redrain_reconcile_findings.
func (s *Reconciler) Register(r prometheus.Registerer) error { return s.gauge.register(r) }

// Reconcile compares what Redis held at one moment with the ledger, and checks every row of the ledger that belongs
// to the campaign: that each transaction sums to zero and is what its payouts say, that each payout is what the
// split says, that balances are the sums of their entries, that the totals are those of the rows.
//
// It is exact also while packets are won and paid, if c was read before shards, and shards before the call. What
// the ledger has posted from entries newer than a shard's snapshot is still stock in that snapshot and is left out;
// what still stood in the outbox then, and is posted by now, counts as paid.
func (s *Reconciler) Reconcile(ctx context.Context, c *rain.Campaign,
	shards []rain.ShardSnapshot) (Reconciliation, error) {
	return s.reconcile(ctx, c, shards, look{rows: true, txns: true})
}

// ReconcileWith is Reconcile with a campaign's state in Redis as it is now, and with every win that Redis knows held
// against the ledger. It reads the campaign itself. The error is ErrHot where Redis cannot be read.
//
// A drained campaign is proved by the ledger alone; its wins in Redis are compared as long as Redis has them.
func (s *Reconciler) ReconcileWith(ctx context.Context, id string, hot Hot, depth Depth) (Reconciliation, error) {
	return s.reconcileWith(ctx, id, hot, look{rows: depth == Rows, txns: true})
}

func (s *Reconciler) reconcileWith(ctx context.Context, id string, hot Hot, how look) (Reconciliation, error) {
	c, err := s.campaigns.Campaign(ctx, id)
	if err != nil {
		return Reconciliation{}, err
	}
	// Redis after the campaign and before the ledger: the ledger then leaves out what is newer than this.
	shards, err := hot.Snapshot(ctx, c)
	switch {
	case err == nil:
		how.hot = hot
	case !c.Drained:
		return Reconciliation{}, fmt.Errorf("campaign %s: %w: %w", id, ErrHot, err)
	}
	return s.reconcile(ctx, c, shards, how)
}

func (s *Reconciler) reconcile(ctx context.Context, c *rain.Campaign, shards []rain.ShardSnapshot,
	how look) (Reconciliation, error) {
	how.stretch = s.stretch
	r, err := newCampaignCheck(c, shards, how)
	if err == nil {
		err = s.db.View(ctx, viewLimit, r.read)
	}
	if err != nil {
		return Reconciliation{}, fmt.Errorf("reconciling campaign %s: %w", c.ID, err)
	}
	result := r.result()
	s.gauge.reconciled(c.ID, result)
	return result, nil
}

// read takes everything from the ledger, as of one moment.
func (r *campaignCheck) read(ctx context.Context, tx *sqldb.Tx) error {
	steps := []func(context.Context, sqldb.Querier) error{
		r.readPayouts, r.readReclaims, r.readDead, r.readWaiting, r.checkEscrow, r.checkTally,
	}
	if err := run(ctx, tx, steps); err != nil {
		return err
	}
	r.checkShards()
	sums := r.sums()
	if sums.Difference != 0 || len(r.found.texts) > 0 {
		r.look.rows, r.look.txns = true, true
	}
	steps = nil
	if r.look.rows && r.look.txns {
		steps = append(steps, r.checkTxns)
	}
	if r.look.rows {
		steps = append(steps, r.compareWins, r.checkPayouts)
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
