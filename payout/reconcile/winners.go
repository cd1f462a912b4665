package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// checkAddedWinners reports rows of the table winner without payouts: such a row would refuse an honest win. The
// other rows were compared before, so the sums differ only if a row was added.
func (p *payoutCheck) checkAddedWinners(ctx context.Context, q sqldb.Querier) error {
	var wins, pageWins int64
	var amount, pageAmount rain.Money
	for after, more := "", true; more; wins, amount = wins+pageWins, amount+pageAmount {
		_, err := q.First(ctx, []any{&after, &pageWins, &pageAmount}, "SELECT COALESCE(MAX(user_id), ''), "+
			"COALESCE(SUM(ABS(wins)), 0), COALESCE(SUM(ABS(amount)), 0) FROM (SELECT user_id, wins, amount FROM "+
			"winner WHERE campaign_id = ? AND user_id > ? ORDER BY user_id LIMIT ?) page", p.campaign.ID, after,
			sqldb.Chunk)
		if err != nil {
			return err
		}
		more = after != ""
	}
	if wins == p.all.Paid && amount == p.all.AmountPaid {
		return nil
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		err := scan(&user)
		p.found.add("a player whose wins are counted wrong", "player %s was paid nothing, but is in the table winner",
			user)
		return err
	}, "SELECT w.user_id FROM winner w LEFT JOIN payout p ON p.campaign_id = w.campaign_id AND p.user_id = w.user_id "+
		"WHERE w.campaign_id = ? AND p.packet IS NULL ORDER BY w.user_id LIMIT ?", p.campaign.ID, maxFindings+1)
}
