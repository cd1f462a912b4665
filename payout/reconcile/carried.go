package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/checkpoint"
	"redrain/rain"
)

// The sums of a campaign go on from those that the newest checkpoint carries forward, so that a look at a campaign
// costs what has come since and not all that it has ever paid. A sum that is a lie does not fit the tally, the budget
// and what Redis has. Then all rows are added up, and a carried sum that is not theirs is named.

// errDoubt says that sums that go on from a checkpoint do not fit.
var errDoubt = errors.New("the sums that go on from the checkpoint do not fit")

// goesOn tells whether sums go on from a checkpoint.
func (r *campaignCheck) goesOn() bool { return r.look.from.Number > 0 && !r.look.anew }

// note adds rows to what is carried forward under a subject.
func (r *campaignCheck) note(subject string, rows, numbers int64, amount rain.Money) {
	if r.added == nil {
		r.added = map[string]checkpoint.Sum{}
	}
	r.added[subject] = r.added[subject].Plus(rows, numbers, int64(amount))
}

// carried are the sums of the campaign as of the checkpoint: of its shards, and of its escrow by kind of transaction.
func (r *campaignCheck) carried(ctx context.Context, q sqldb.Querier) (map[string]checkpoint.Sum, error) {
	subjects := []string{}
	for _, n := range r.sortedShards() {
		subjects = append(subjects, checkpoint.Payouts(r.campaign.ID, n))
	}
	for _, kind := range sortedKeys(flows) {
		subjects = append(subjects, checkpoint.Escrow(r.campaign.ID, kind))
	}
	return checkpoint.Sums(ctx, q, r.look.from, subjects, r.badCheckpoint)
}

func (r *campaignCheck) badCheckpoint(fault string) {
	r.found.add("a checkpoint that is not whole", fault, "%s", fault)
}

// readPayoutsSince adds up the payouts: those that the checkpoint carries, which are all as old as the snapshots, and
// those of the transactions that came since.
func (r *campaignCheck) readPayoutsSince(ctx context.Context, q sqldb.Querier) error {
	sums, err := r.carried(ctx, q)
	if err != nil {
		return err
	}
	for n := range r.shards {
		if s, known := sums[checkpoint.Payouts(r.campaign.ID, n)]; known {
			r.paidBy(n, false, s.Rows, s.Numbers, rain.Money(s.Amount))
		}
	}
	return r.eachSince(ctx, q, func(marks string, ids []any) error {
		query, args := r.payoutSums("p.txn_id IN "+marks, ids...)
		return q.Each(ctx, r.addPaid, query, args...)
	})
}

// escrowSince adds up the lines of the escrow in the same way.
func (r *campaignCheck) escrowSince(ctx context.Context, q sqldb.Querier) (map[string]rain.Money, error) {
	carried, err := r.carried(ctx, q)
	if err != nil {
		return nil, err
	}
	sums := map[string]rain.Money{}
	for kind := range flows {
		sums[kind] = rain.Money(carried[checkpoint.Escrow(r.campaign.ID, kind)].Amount)
	}
	return sums, r.eachSince(ctx, q, func(marks string, ids []any) error {
		query, args := r.escrowSums("e.txn_id IN "+marks, ids...)
		return q.Each(ctx, r.addEscrow(sums), query, args...)
	})
}

// eachSince calls fn with the transactions that came since the checkpoint, some at a time.
func (r *campaignCheck) eachSince(ctx context.Context, q sqldb.Querier, fn func(marks string, ids []any) error) error {
	ids, err := r.look.from.Since(ctx, q)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, txnsAtOnce) {
		if err := fn(sqldb.Marks(len(some)), sqldb.Args(some)); err != nil {
			return err
		}
	}
	return nil
}

// checkCarried names the sums that the checkpoint carries and that are not those of the rows, once all rows were added
// up because something does not fit.
func (r *campaignCheck) checkCarried(ctx context.Context, q sqldb.Querier) error {
	if r.look.from.Number == 0 || !r.look.anew {
		return nil
	}
	rows := r.added
	carried, err := r.carried(ctx, q)
	if err != nil {
		return err
	}
	since, _, err := sumsSince(ctx, q, r.look.from)
	if err != nil {
		return err
	}
	subjects := maps.Clone(rows)
	maps.Copy(subjects, carried)
	for _, subject := range sortedKeys(subjects) {
		now := carried[subject].Plus(since[subject].Rows, since[subject].Numbers, since[subject].Amount)
		if is := rows[subject]; now.Rows != is.Rows || now.Numbers != is.Numbers || now.Amount != is.Amount {
			r.badCheckpoint(notOfItsRows(subject))
		}
	}
	return nil
}

// notOfItsRows is what is said of a sum that is a lie.
func notOfItsRows(subject string) string {
	return "the sum of \"" + subject + "\" that is carried forward is not that of its rows"
}
