package reconcile

import (
	"context"
	"errors"
	"math"
	"slices"

	"redrain/internal/sqldb"
	ledgerchain "redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
)

// checkPayouts holds each new payout against the split, and what its player has won of the campaign by now against the
// limit and the table winner.
func (r *recentStep) checkPayouts(ctx context.Context, q sqldb.Querier) error {
	checks := map[string]*payoutCheck{}
	users := map[string]map[string]bool{}
	for ids := range slices.Chunk(r.txns, txnsAtOnce) {
		paid, err := paidBy(ctx, q, ids)
		if err != nil {
			return err
		}
		of := map[string]bool{}
		for _, p := range paid {
			of[p.campaign] = true
		}
		for _, campaign := range sortedKeys(of) {
			c := checks[campaign]
			if c == nil {
				if c, err = r.checkOf(ctx, q, campaign); err != nil {
					return err
				}
				checks[campaign], users[campaign] = c, map[string]bool{}
			}
			if err := r.payoutsOf(ctx, q, c, ids, users[campaign]); err != nil {
				return err
			}
		}
	}
	for _, campaign := range sortedKeys(checks) {
		for some := range slices.Chunk(sortedKeys(users[campaign]), askedAtOnce) {
			if err := checks[campaign].checkPlayers(ctx, q, some); err != nil {
				return err
			}
		}
		if c := checks[campaign]; c != nil {
			r.found.take(&c.found, campaign)
		}
	}
	return nil
}

// checkOf is what the payouts of a campaign are held against. That of a campaign that there is not holds nothing: its
// transactions are named. Neither does one whose payouts are leaving the books: its players' totals are not theirs.
func (r *recentStep) checkOf(ctx context.Context, q sqldb.Querier, campaign string) (*payoutCheck, error) {
	if archived, err := archivedOf(ctx, q, []string{campaign}); err != nil || len(archived) > 0 {
		return nil, err
	}
	c, err := r.s.campaigns.CampaignAsStored(ctx, campaign)
	if errors.Is(err, posting.ErrUnknownCampaign) {
		return nil, nil //nolint:nilnil // there is nothing to hold them against
	}
	if err != nil {
		return nil, err
	}
	return &payoutCheck{campaignCheck: newCampaignCheck(c, nil, look{}), last: math.MinInt64}, nil
}

// payoutsOf looks at the payouts of some transactions, and notes their players.
func (r *recentStep) payoutsOf(ctx context.Context, q sqldb.Querier, c *payoutCheck, ids []int64,
	users map[string]bool) error {
	if c == nil {
		return nil
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		row, err := scanPayout(scan)
		if err == nil {
			c.inItself(&row)
			users[row.user] = true
		}
		r.rows++
		return err
	}, payoutSelect+"WHERE campaign_id = ? AND txn_id IN "+sqldb.Marks(len(ids)),
		append([]any{c.campaign.ID}, sqldb.Args(ids)...)...)
}

// checkPlayers compares what some players have won of the campaign in all.
func (p *payoutCheck) checkPlayers(ctx context.Context, q sqldb.Querier, users []string) error {
	if p == nil {
		return nil
	}
	won := map[string]winnerRow{}
	args := append([]any{p.campaign.ID}, sqldb.Args(users)...)
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		w, err := scanWinner(scan)
		won[w.user] = w
		return err
	}, "SELECT user_id, COUNT(*), SUM(amount) FROM payout WHERE campaign_id = ? AND user_id IN "+
		sqldb.Marks(len(users))+" GROUP BY user_id", args...)
	if err != nil {
		return err
	}
	kept := map[string]winnerRow{}
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		w, err := scanWinner(scan)
		kept[w.user] = w
		return err
	}, "SELECT user_id, wins, amount FROM winner WHERE campaign_id = ? AND user_id IN "+sqldb.Marks(len(users)),
		args...)
	for _, user := range sortedKeys(won) {
		w := won[user]
		row, counted := kept[user]
		if w.wins > int64(p.campaign.WinsPerUser) && p.amounts != nil {
			p.found.add("a player with too many packets", user, "player %s was paid for %d packets, but may win %d",
				user, w.wins, p.campaign.WinsPerUser)
		}
		switch {
		case !counted:
			p.found.add("a player whose wins are not counted", user, "player %s was paid, but the table winner does "+
				"not have them", user)
		case w != row:
			p.nameWinner(row, w)
		}
	}
	return err
}

// checkFunds holds the transactions that have funded the campaigns against their links: a campaign's row is their
// paper, and what it is goes on as long as the campaign does.
func (r *recentStep) checkFunds(ctx context.Context, q sqldb.Querier) error {
	for _, id := range sortedKeys(r.campaigns) {
		if err := ledgerchain.CheckTxn(ctx, q, "fund:"+id, r.found.addBreak); err != nil {
			return err
		}
	}
	return nil
}
