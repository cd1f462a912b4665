package payout

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// maxFindings is how many rows with the same fault are named.
const maxFindings = 10

// checkEscrow compares the lines of the campaign's escrow with what they are there for.
func (r *reconciler) checkEscrow(ctx context.Context, q sqldb.Querier) error {
	sums := map[string]rain.Money{}
	var total rain.Money
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var kind string
		var amount rain.Money
		if err := scan(&kind, &amount); err != nil {
			return err
		}
		sums[kind] = amount
		total += amount
		return nil
	}, "SELECT t.kind, SUM(e.amount) FROM entry e JOIN txn t ON t.id = e.txn_id WHERE e.account_id = ? GROUP BY t.kind",
		escrowAccount(r.campaign.ID).id())
	if err != nil {
		return err
	}
	r.funded = sums[kindFund]
	r.compare("funded", sums[kindFund], "the campaign's budget", r.campaign.Budget)
	r.compare("paid out of the escrow", -sums[kindPay], "the payouts", r.all.amountPaid)
	r.compare("given back out of the escrow", -sums[kindReclaim], "the reclaims", r.all.amountReclaimed)
	balance, _, err := balanceOf(ctx, q, escrowAccount(r.campaign.ID))
	r.compare("the escrow's balance", balance, "its entries", total)
	return err
}

func (r *reconciler) compare(what string, got rain.Money, source string, want rain.Money) {
	if got != want {
		r.find("%s is %d, but %s sum to %d", what, got, source, want)
	}
}

// checkTally compares the totals that are kept with the rows.
func (r *reconciler) checkTally(ctx context.Context, q sqldb.Querier) error {
	var t totals
	_, err := q.First(ctx, []any{&t.paid, &t.amountPaid, &t.reclaimed, &t.amountReclaimed},
		"SELECT paid, amount_paid, reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?", r.campaign.ID)
	if err == nil && t != r.all {
		r.find("the tally is %+v, but the rows sum to %+v", t, r.all)
	}
	return err
}

// checkTxns looks for transactions of the campaign that do not sum to zero.
func (r *reconciler) checkTxns(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var sum rain.Money
		err := scan(&id, &sum)
		r.find("transaction %d sums to %d, not to 0", id, sum)
		return err
	}, "SELECT txn_id, SUM(amount) FROM entry WHERE txn_id IN (SELECT txn_id FROM entry WHERE account_id = ?) "+
		"GROUP BY txn_id HAVING SUM(amount) <> 0 ORDER BY txn_id LIMIT ?", escrowAccount(r.campaign.ID).id(), maxFindings)
}

// checkBalances looks for accounts that the campaign has touched whose balance is not the sum of their entries.
func (r *reconciler) checkBalances(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var sum, balance rain.Money
		err := scan(&id, &sum, &balance)
		r.find("the balance of %s is %d, but its entries sum to %d", id, balance, sum)
		return err
	}, "SELECT e.account_id, SUM(e.amount), COALESCE(b.amount, 0) FROM entry e LEFT JOIN balance b ON b.account_id = e.account_id "+
		"WHERE e.account_id IN (SELECT m.account_id FROM entry m WHERE m.txn_id IN (SELECT txn_id FROM entry WHERE account_id = ?)) "+
		"GROUP BY e.account_id, b.amount HAVING SUM(e.amount) <> COALESCE(b.amount, 0) ORDER BY e.account_id LIMIT ?",
		escrowAccount(r.campaign.ID).id(), maxFindings)
}
