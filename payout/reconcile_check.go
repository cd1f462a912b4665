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

// checkBalances compares the balance of every account that the campaign has touched with the sum of its entries.
//
// It goes through the payouts page by page. One statement for all of them makes MariaDB group hundreds of thousands of
// accounts in a temporary table on disk, which takes minutes.
func (r *reconciler) checkBalances(ctx context.Context, q sqldb.Querier) error {
	accounts := []string{escrowAccount(r.campaign.ID).id(), sponsorAccount(r.campaign.Sponsor).id()}
	checked := map[string]bool{} // so that a player with many packets is summed once and not on every page
	for packet := -1; ; {
		if err := r.compareBalances(ctx, q, accounts); err != nil {
			return err
		}
		if len(checked) > 100*sqldb.Chunk {
			clear(checked) // with so many players, few come again
		}
		before := packet
		accounts = accounts[:0]
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var user string
			err := scan(&packet, &user)
			if !checked[user] {
				checked[user] = true
				accounts = append(accounts, userAccount(user).id())
			}
			return err
		}, "SELECT packet, user_id FROM payout WHERE campaign_id = ? AND packet > ? ORDER BY packet LIMIT ?", r.campaign.ID, before, sqldb.Chunk)
		if err != nil || packet == before {
			return err
		}
	}
}

func (r *reconciler) compareBalances(ctx context.Context, q sqldb.Querier, accounts []string) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var balance, sum rain.Money
		err := scan(&id, &balance, &sum)
		if balance != sum && r.faulty < maxFindings {
			r.faulty++
			r.find("the balance of %s is %d, but its entries sum to %d", id, balance, sum)
		}
		return err
	}, "SELECT a.id, COALESCE((SELECT b.amount FROM balance b WHERE b.account_id = a.id), 0), "+
		"COALESCE((SELECT SUM(e.amount) FROM entry e WHERE e.account_id = a.id), 0) FROM account a WHERE a.id IN "+sqldb.Marks(len(accounts)),
		sqldb.Args(accounts)...)
}
