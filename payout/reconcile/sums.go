package reconcile

import (
	"context"
	"math"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// checkShards compares each shard's own counts with its lists. With rows it checks the place of every packet.
func (r *campaignCheck) checkShards(context.Context, sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	for n, b := range r.shards {
		if !r.known(b) {
			if b.snapshot.Unread == "" { // else it is reported
				r.found.add("a lost shard", "shard %d: Redis has lost it, or never had it; what it held cannot be "+
					"accounted for until the campaign is rebuilt", n)
			}
			continue
		}
		if got, want := b.snapshot.Left, b.snapshot.Stock.Count(); b.snapshot.Found && got != want {
			r.found.add("a state that is not its stock", "shard %d: its state says that %d packets are left, but its "+
				"stock has %d", n, got, want)
		}
		if r.scope.rows {
			r.checkPlaces(n)
		}
	}
	return nil
}

// checkEscrow compares the escrow's lines, by the kind of their transactions, and its balance with the campaign.
// Without rows it reads only the balance and the transaction that funded the campaign.
func (r *campaignCheck) checkEscrow(ctx context.Context, q sqldb.Querier) error {
	balance, _, err := booking.BalanceOf(ctx, q, booking.EscrowAccount(r.campaign.ID))
	if err != nil {
		return err
	}
	if r.scope.rows {
		err = r.checkEscrowLines(ctx, q, balance)
	} else {
		_, err = q.First(ctx, []any{&r.funded}, "SELECT e.amount FROM txn t JOIN entry e ON e.txn_id = t.id "+
			"WHERE t.idem_key = ? AND e.account_id = ?", posting.FundKey(r.campaign.ID),
			booking.EscrowAccount(r.campaign.ID).ID())
	}
	r.compare("funded", r.funded, "the campaign's budget is", r.campaign.Budget)
	owed := r.campaign.Budget - r.all.AmountPaid - r.all.AmountReclaimed
	r.compare("the escrow's balance", balance, "the unpaid and unreturned packets sum to", owed)
	r.short = owed - balance
	return err
}

// checkEscrowLines compares the escrow's lines with the campaign's payouts and reclaims, and with its balance.
func (r *campaignCheck) checkEscrowLines(ctx context.Context, q sqldb.Querier, balance rain.Money) error {
	sums, err := r.escrowByKind(ctx, q)
	if err != nil {
		return err
	}
	var total rain.Money
	for _, sum := range sums {
		total += sum
	}
	r.funded = sums[booking.KindFund]
	r.compare("paid out of the escrow", -sums[booking.KindPay], "the payouts sum to", r.all.AmountPaid)
	r.compare("returned out of the escrow", -sums[booking.KindReclaim], "the reclaims sum to", r.all.AmountReclaimed)
	for _, kind := range sortedKeys(sums) {
		if !slices.Contains([]string{booking.KindFund, booking.KindPay, booking.KindReclaim}, kind) {
			r.compare("moved by transactions of kind "+kind+" in the escrow", sums[kind], "of a campaign it is", 0)
		}
	}
	r.compare("the escrow's balance", balance, "its entries sum to", total)
	return nil
}

// escrowByKind sums the escrow's lines by the kind of their transactions, in stretches.
func (r *campaignCheck) escrowByKind(ctx context.Context, q sqldb.Querier) (map[string]rain.Money, error) {
	escrow := booking.EscrowAccount(r.campaign.ID).ID()
	sums := map[string]rain.Money{}
	for after, last := int64(math.MinInt64), false; !last; {
		// A stretch ends with a transaction, so that it has all of the transaction's lines.
		until := int64(math.MaxInt64)
		more, err := q.First(ctx, []any{&until}, "SELECT txn_id FROM entry WHERE account_id = ? AND txn_id > ? "+
			"ORDER BY txn_id LIMIT 1 OFFSET ?", escrow, after, r.scope.stretch)
		if err != nil {
			return nil, err
		}
		err = q.Each(ctx, func(scan sqldb.Scan) error {
			var kind string
			var amount rain.Money
			err := scan(&kind, &amount)
			sums[kind] += amount
			return err
		}, "SELECT COALESCE(t.kind, ''), SUM(e.amount) FROM entry e LEFT JOIN txn t ON t.id = e.txn_id "+
			"WHERE e.account_id = ? AND e.txn_id > ? AND e.txn_id <= ? GROUP BY t.kind", escrow, after, until)
		if err != nil {
			return nil, err
		}
		after, last = until, !more
	}
	return sums, nil
}

func (r *campaignCheck) compare(what string, got rain.Money, source string, want rain.Money) {
	if got != want {
		r.found.add("sums", "%s is %d, but %s %d", what, got, source, want)
	}
}

// tally reads the stored totals.
func (r *campaignCheck) tally(ctx context.Context, q sqldb.Querier) (t posting.Totals, err error) {
	_, err = q.First(ctx, []any{&t.Paid, &t.AmountPaid, &t.Reclaimed, &t.AmountReclaimed},
		"SELECT paid, amount_paid, reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?",
		r.campaign.ID)
	return t, err
}

// checkTally compares the stored totals with the rows.
func (r *campaignCheck) checkTally(ctx context.Context, q sqldb.Querier) error {
	t, err := r.tally(ctx, q)
	if err == nil && t != r.all {
		r.found.add("the tally", "the tally says %d packets paid, %d in all, and %d returned, %d in all; the rows "+
			"say %d, %d, %d and %d", t.Paid, t.AmountPaid, t.Reclaimed, t.AmountReclaimed, r.all.Paid, r.all.AmountPaid,
			r.all.Reclaimed, r.all.AmountReclaimed)
	}
	return err
}

// checkTxns checks every transaction of the campaign's escrow, page by page.
func (r *campaignCheck) checkTxns(ctx context.Context, q sqldb.Querier) error {
	for after := int64(-1); ; {
		ids, err := sqldb.Column[int64](ctx, q,
			"SELECT DISTINCT txn_id FROM entry WHERE account_id = ? AND txn_id > ? ORDER BY txn_id LIMIT ?",
			booking.EscrowAccount(r.campaign.ID).ID(), after, txnsAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := checkTxns(ctx, q, ids, &r.found); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// checkAccounts compares the balances of accounts with the sums of their entries. Each sum is a subquery, which the
// index on entry answers. With one grouping statement, MariaDB would build temporary tables on disk.
//
// If an account's entries cannot be summed, it is reported, and the others are compared.
func checkAccounts(ctx context.Context, q sqldb.Querier, accounts []string, found *findings) error {
	return oneByOne(accounts, found, "account", func(some []string) error {
		return q.Each(ctx, func(scan sqldb.Scan) error {
			var id string
			var balance, sum rain.Money
			if err := scan(&id, &balance, &sum); err != nil {
				return err
			}
			if balance != sum {
				found.add("a balance that is not its entries", "the balance of %s is %d, but its entries sum to %d", id,
					balance, sum)
			}
			if balance < 0 && !booking.MayOwe(id) {
				found.add("an account below zero", "the balance of %s is %d", id, balance)
			}
			return nil
		}, "SELECT b.account_id, b.amount, COALESCE((SELECT SUM(e.amount) FROM entry e WHERE e.account_id = "+
			"b.account_id), 0) FROM balance b WHERE b.account_id IN "+sqldb.Marks(len(some)), sqldb.Args(some)...)
	})
}

// checkSettings reports shards whose state or rules were tampered with. It reads the campaign again after the
// snapshots: no shard can have a newer revision.
func (r *campaignCheck) checkSettings(ctx context.Context, q sqldb.Querier) error {
	var revision int64
	var status string
	if _, err := q.First(ctx, []any{&revision, &status}, "SELECT revision, status FROM campaign WHERE id = ?",
		r.campaign.ID); err != nil {
		return err
	}
	for n := range r.shards {
		s := &r.shards[n].snapshot
		for _, what := range s.Altered {
			r.found.add("a state that was changed", "shard %d: %s", n, what)
		}
		switch {
		case s.Closed && rain.Status(status) != rain.Closed:
			r.found.add("a state that was changed", "shard %d: its state says that it is closed, but the campaign is "+
				"%s", n, status)
		case !s.Closed && s.Revision > revision:
			r.found.add("a state that was changed", "shard %d: its state is of revision %d of the campaign, which "+
				"has come to revision %d", n, s.Revision, revision)
		}
	}
	return nil
}
