package payout

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Reconciliation says where every cent of a campaign is. Each cent is in exactly one of the places:
//
//	Funded = Paid + Reclaimed + Stock + Unsettled + Dead + Difference
type Reconciliation struct {
	Funded     rain.Money `json:"funded"`
	Paid       rain.Money `json:"paid"`       // posted to players
	Reclaimed  rain.Money `json:"reclaimed"`  // posted back to the sponsor
	Stock      rain.Money `json:"stock"`      // in Redis and not won; while a campaign is loading, all that is being stocked
	Unsettled  rain.Money `json:"unsettled"`  // in an outbox and not yet posted
	Dead       rain.Money `json:"dead"`       // dead letters
	Difference rain.Money `json:"difference"` // positive: money is missing; negative: more was promised than funded
	Balanced   bool       `json:"balanced"`   // no difference and no findings
	Findings   []string   `json:"findings,omitempty"`
}

// Reconcile compares what Redis held at one moment with the ledger, and checks the ledger's own sums for the campaign:
// that each transaction sums to zero, that balances are the sums of their entries, that the totals are those of the rows.
//
// It is exact also while packets are won and paid, if c was read before shards, and shards before the call. What
// the ledger has posted from entries newer than a shard's snapshot is still stock in that snapshot and is left out;
// what still stood in the outbox then, and is posted by now, counts as paid.
func (l *Ledger) Reconcile(ctx context.Context, c *rain.Campaign, shards []rain.ShardSnapshot) (Reconciliation, error) {
	r, err := newReconciler(c, shards)
	if err == nil {
		err = l.db.View(ctx, r.read)
	}
	if err != nil {
		return Reconciliation{}, fmt.Errorf("reconciling campaign %s: %w", c.ID, err)
	}
	result := r.result()
	l.gauge.reconciled(c.ID, result.Difference)
	return result, nil
}

// reconciler gathers the figures of one reconciliation.
type reconciler struct {
	campaign *rain.Campaign
	shards   map[int]*shardBooks
	findings []string
	faulty   int // balances found faulty so far

	funded    rain.Money
	reclaimed rain.Money   // as of the snapshots
	given     map[int]bool // shards whose rest is back at the sponsor; wholeCampaign for all of them
	dead      *batch       // the dead letters that wait
	all       totals       // of all rows, those newer than the snapshots too
}

// shardBooks is one shard as Redis and as the ledger see it.
type shardBooks struct {
	snapshot       rain.ShardSnapshot
	cutMS, cutSeq  int64 // the newest outbox entry that the snapshot knows of
	paid, dead     rain.Money
	waitingWins    rain.Money // in the outbox and not in the ledger
	waitingReclaim rain.Money
	deadReclaim    rain.Money
}

func (r *reconciler) find(format string, args ...any) {
	r.findings = append(r.findings, fmt.Sprintf(format, args...))
}

// read takes everything from the ledger, as of one moment.
func (r *reconciler) read(ctx context.Context, tx *sqldb.Tx) error {
	for _, step := range []func(context.Context, sqldb.Querier) error{
		r.readPayouts, r.readReclaims, r.readDead, r.readWaiting, r.checkEscrow, r.checkTally, r.checkTxns, r.checkBalances,
	} {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// result does the sum.
func (r *reconciler) result() Reconciliation {
	res := Reconciliation{Funded: r.funded, Reclaimed: r.reclaimed}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		res.Paid += b.paid
		res.Unsettled += b.waitingWins + b.waitingReclaim
		res.Dead += b.dead + b.deadReclaim
		if !r.given[wholeCampaign] { // what an abandoned stocking has left behind in Redis is worth nothing
			res.Stock += b.snapshot.Left
		}
		if !b.snapshot.Found && !r.given[wholeCampaign] && r.campaign.Status != rain.Loading && !r.campaign.Drained {
			r.find("shard %d: Redis knows nothing of it; what it held cannot be accounted for", n)
		}
		if known := b.paid + b.waitingWins + b.dead; b.snapshot.Found && b.snapshot.AmountWon != known {
			r.find("shard %d: Redis says that %d was won, the ledger and the outbox say %d", n, b.snapshot.AmountWon, known)
		}
	}
	accounted := res.Paid + res.Reclaimed + res.Unsettled + res.Dead
	if r.campaign.Status == rain.Loading {
		res.Stock = res.Funded - accounted
	}
	res.Difference = res.Funded - accounted - res.Stock
	res.Balanced = res.Difference == 0 && len(r.findings) == 0
	res.Findings = r.findings
	return res
}
