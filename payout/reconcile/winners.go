package reconcile

import (
	"context"
	"hash/maphash"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// winnerSums compares what the table winner says of all players of a campaign with their payouts, in one pass over
// each and without memory for a player: both sides add up, in any order, numbers that are drawn for each player. A
// difference is then looked for player by player.
type winnerSums struct {
	seed          maphash.Seed
	wins, amounts uint64
}

func (s *winnerSums) add(user string, wins int64, amount rain.Money) {
	drawn := maphash.String(s.seed, user)
	s.wins += uint64(wins) * drawn      //nolint:gosec // it wraps around
	s.amounts += uint64(amount) * drawn //nolint:gosec // it wraps around
}

// winnerRow is what a row says that a player has won of a campaign.
type winnerRow struct {
	user   string
	wins   int64
	amount rain.Money
}

func scanWinner(scan sqldb.Scan) (w winnerRow, err error) {
	err = scan(&w.user, &w.wins, &w.amount)
	return w, err
}

// checkWinners compares the rows of the players with the payouts, which have all been added up.
func (p *payoutCheck) checkWinners(ctx context.Context, q sqldb.Querier) error {
	err := p.eachWinners(ctx, q, func(page []winnerRow) error {
		for _, w := range page {
			p.winners.add(w.user, -w.wins, -w.amount)
		}
		return nil
	})
	if err != nil || p.winners.wins == 0 && p.winners.amounts == 0 {
		return err
	}
	if err := p.eachWinners(ctx, q, func(page []winnerRow) error { return p.nameWinners(ctx, q, page) }); err != nil {
		return err
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		err := scan(&user)
		p.found.add("a player whose wins are not counted", user, "player %s was paid, but the table winner "+
			"does not have them", user)
		return err
	}, "SELECT DISTINCT p.user_id FROM payout p LEFT JOIN winner w ON w.campaign_id = p.campaign_id AND "+
		"w.user_id = p.user_id WHERE p.campaign_id = ? AND w.user_id IS NULL ORDER BY p.user_id LIMIT ?", p.campaign.ID,
		maxFindings+1)
}

func (p *payoutCheck) eachWinners(ctx context.Context, q sqldb.Querier, fn func([]winnerRow) error) error {
	for after := ""; ; {
		page, err := sqldb.List(ctx, q, scanWinner, "SELECT user_id, wins, amount FROM winner WHERE campaign_id = ? "+
			"AND user_id > ? ORDER BY user_id LIMIT ?", p.campaign.ID, after, sqldb.Chunk)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(page); err != nil {
			return err
		}
		after = page[len(page)-1].user
	}
}

// nameWinners names the rows of a page that are not what the players were paid.
func (p *payoutCheck) nameWinners(ctx context.Context, q sqldb.Querier, page []winnerRow) error {
	users := make([]string, len(page))
	for i, w := range page {
		users[i] = w.user
	}
	paid := map[string]winnerRow{}
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		w, err := scanWinner(scan)
		was := paid[w.user]
		paid[w.user] = winnerRow{w.user, was.wins + w.wins, was.amount + w.amount}
		return err
	}, "SELECT user_id, 1, amount FROM payout WHERE campaign_id = ? AND user_id IN", users, p.campaign.ID)
	for _, w := range page {
		if is := paid[w.user]; is.wins != w.wins || is.amount != w.amount {
			p.nameWinner(w, is)
		}
	}
	return err
}

// nameWinner names a row that is not what its player was paid.
func (p *payoutCheck) nameWinner(row, is winnerRow) {
	p.found.add("a player whose wins are counted wrong", row.user, "player %s was paid for %d packets, %d in all, but "+
		"the table winner says %d and %d", row.user, is.wins, is.amount, row.wins, row.amount)
}
