package reconcile

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/checkpoint"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// checkShards compares each shard's own counts with its lists, and these with what is known of its packets.
func (r *campaignCheck) checkShards() {
	if !r.counted() {
		return
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		if b.snapshot.Unread != "" {
			continue // is named
		}
		if !r.known(b) {
			r.found.add("a lost shard", shardName(n), "shard %d: Redis has lost it, or never had it; what it held "+
				"cannot be accounted for until the campaign is rebuilt", n)
			continue
		}
		if b.snapshot.Found {
			r.checkState(n)
		}
		r.suspect = r.suspect || !r.fits(b)
	}
}

// checkNumbers looks for the place of every packet, once all payouts have been looked at.
func (r *campaignCheck) checkNumbers(context.Context, sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	r.placeReclaimsExactly()
	for _, n := range r.sortedShards() {
		if r.known(r.shards[n]) {
			r.checkPlaces(n)
		}
	}
	return nil
}

// checkEscrow compares the lines of the campaign's escrow with what they are there for.
func (r *campaignCheck) checkEscrow(ctx context.Context, q sqldb.Querier) error {
	sums, err := r.escrowByKind(ctx, q)
	if err != nil {
		return err
	}
	var total rain.Money
	for _, sum := range sums {
		total += sum
	}
	r.funded = sums[booking.KindFund]
	r.compare("funded", sums[booking.KindFund], "the campaign's budget is", r.campaign.Budget)
	r.compare("paid out of the escrow", -sums[booking.KindPay], "the payouts sum to", r.all.AmountPaid)
	r.compare("given back out of the escrow", -sums[booking.KindReclaim], "the reclaims sum to", r.all.AmountReclaimed)
	for _, kind := range sortedKeys(sums) {
		if !slices.Contains([]string{booking.KindFund, booking.KindPay, booking.KindReclaim}, kind) {
			// Nothing of a campaign that was not dropped is carried, and no other kind touches an escrow.
			r.compare("moved by transactions of kind "+kind+" in the escrow", sums[kind], "of this campaign it is", 0)
		}
	}
	balance, _, err := booking.BalanceOf(ctx, q, booking.EscrowAccount(r.campaign.ID))
	r.compare("the escrow's balance", balance, "its entries sum to", total)
	owed := r.campaign.Budget - r.all.AmountPaid - r.all.AmountReclaimed
	r.compare("the escrow's balance", balance, "what is neither paid nor given back sums to", owed)
	r.short = owed - balance
	return err
}

// escrowByKind adds up the lines of the campaign's escrow by the kind of their transactions, in stretches.
func (r *campaignCheck) escrowByKind(ctx context.Context, q sqldb.Querier) (map[string]rain.Money, error) {
	if r.goesOn() {
		return r.escrowSince(ctx, q)
	}
	escrow := booking.EscrowAccount(r.campaign.ID).ID()
	sums := map[string]rain.Money{}
	return sums, eachStretch(ctx, q, entryStretch, escrow, r.look.stretch, func(after, until int64) error {
		query, args := r.escrowSums("e.txn_id > ? AND e.txn_id <= ?", after, until)
		return q.Each(ctx, r.addEscrow(sums), query, args...)
	})
}

// escrowSums is the query for the lines of the campaign's escrow that meet a condition, added up by kind.
func (r *campaignCheck) escrowSums(where string, of ...any) (query string, args []any) {
	return "SELECT COALESCE(t.kind, ''), COUNT(*), SUM(e.amount) FROM entry e LEFT JOIN txn t ON t.id = e.txn_id " +
			"WHERE e.account_id = ? AND " + where + " GROUP BY t.kind",
		append([]any{booking.EscrowAccount(r.campaign.ID).ID()}, of...)
}

// addEscrow adds the rows of escrowSums.
func (r *campaignCheck) addEscrow(sums map[string]rain.Money) func(sqldb.Scan) error {
	return func(scan sqldb.Scan) error {
		var kind string
		var rows int64
		var amount rain.Money
		err := scan(&kind, &rows, &amount)
		sums[kind] += amount
		r.note(checkpoint.Escrow(r.campaign.ID, kind), rows, 0, amount)
		return err
	}
}

func (r *campaignCheck) compare(what string, got rain.Money, source string, want rain.Money) {
	if got != want {
		r.found.add("sums", what+" "+source+" "+delta(got, want), "%s is %d, but %s %d", what, got, source, want)
	}
}

// checkTally compares the totals that are kept with the rows.
func (r *campaignCheck) checkTally(ctx context.Context, q sqldb.Querier) error {
	var t posting.Totals
	_, err := q.First(ctx, []any{&t.Paid, &t.AmountPaid, &t.Reclaimed, &t.AmountReclaimed},
		"SELECT paid, amount_paid, reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?",
		r.campaign.ID)
	if err == nil && t != r.all {
		r.found.add("the tally", delta(t.AmountPaid, r.all.AmountPaid)+" "+delta(t.AmountReclaimed,
			r.all.AmountReclaimed),
			"the tally says %d packets paid, %d in all, and %d given back, %d in all; the rows say %d, %d, %d and %d",
			t.Paid, t.AmountPaid, t.Reclaimed, t.AmountReclaimed, r.all.Paid, r.all.AmountPaid, r.all.Reclaimed,
			r.all.AmountReclaimed)
	}
	return err
}

// checkTxns checks every transaction that has touched the campaign's escrow, page by page.
func (r *campaignCheck) checkTxns(ctx context.Context, q sqldb.Querier) error {
	for after := int64(-1); ; {
		ids, err := sqldb.Column[int64](ctx, q,
			"SELECT DISTINCT txn_id FROM entry WHERE account_id = ? AND txn_id > ? ORDER BY txn_id LIMIT ?",
			booking.EscrowAccount(r.campaign.ID).ID(), after, txnsAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := checkTxnPage(ctx, q, ids, &r.found); err != nil {
			return err
		}
		if err := r.checkLinks(ctx, q, ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// checkAccounts compares the balances of accounts with the sums of their entries. Each sum is a subquery of its
// own, which the index on entry answers; grouping many accounts in one statement makes MariaDB build temporary
// tables on disk.
//
// An account whose entries cannot be added up is named, and the others are compared.
func checkAccounts(ctx context.Context, q sqldb.Querier, accounts []string, found *findings) error {
	return oneByOne(accounts, func(some []string) error { return compareAccounts(ctx, q, some, found) },
		func(account string, why error) {
			found.add("rows that cannot be read", account,
				"account %s: its rows cannot be added up, so somebody has changed them: %v", account, why)
		})
}

func compareAccounts(ctx context.Context, q sqldb.Querier, accounts []string, found *findings) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var balance, sum rain.Money
		if err := scan(&id, &balance, &sum); err != nil {
			return err
		}
		if balance != sum {
			found.add("a balance that is not its entries", id+" "+delta(balance, sum),
				"the balance of %s is %d, but its entries sum to %d", id, balance, sum)
		}
		if balance < 0 && !booking.MayOwe(id) {
			found.add("an account below zero", id, "the balance of %s is %d", id, balance)
		}
		return nil
	}, "SELECT b.account_id, b.amount, COALESCE((SELECT SUM(e.amount) FROM entry e WHERE e.account_id = "+
		"b.account_id), 0) FROM balance b WHERE b.account_id IN "+sqldb.Marks(len(accounts)),
		sqldb.Args(accounts)...)
}
