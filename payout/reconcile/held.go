package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// readHeld adds up what of the campaign's payouts is kept apart, or was and is back at the sponsor. That the money has
// moved as these rows say is checked with the transactions.
func (r *campaignCheck) readHeld(ctx context.Context, q sqldb.Querier) error {
	_, err := q.First(ctx, []any{&r.held, &r.confirmed}, "SELECT "+
		"COALESCE(SUM(CASE WHEN state = 'held' THEN amount ELSE 0 END), 0), "+
		"COALESCE(SUM(CASE WHEN state = 'confirmed' THEN amount ELSE 0 END), 0) FROM held WHERE campaign_id = ? "+
		"AND state IN ('held', 'confirmed')", r.campaign.ID)
	return err
}

// checkHeld compares all that is kept apart with what the held accounts have, as of one moment; and looks for held wins
// that nobody has been paid, of campaigns that have not left the books.
func checkHeld(ctx context.Context, q sqldb.Querier, found *findings) error {
	var have, open rain.Money
	_, err := q.First(ctx, []any{&have, &open}, "SELECT "+
		"COALESCE((SELECT SUM(amount) FROM balance WHERE account_id >= ? AND account_id < ?), 0), "+
		"COALESCE((SELECT SUM(amount) FROM held WHERE state = 'held'), 0)",
		booking.KindHeld+":", booking.KindHeld+";")
	if err != nil {
		return err
	}
	if have != open {
		found.add("money kept apart", delta(have, open),
			"the held accounts have %d, but the wins that nobody has decided about sum to %d", have, open)
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var claim, user string
		var amount int64
		if err := scan(&claim, &user, &amount); err != nil {
			return err
		}
		found.add("a held win that was not won", claim, "held win %s of player %s, amount %d: there is no such payout",
			claim, user, amount)
		return nil
	}, "SELECT h.claim, h.user_id, h.amount FROM held h LEFT JOIN payout p ON p.campaign_id = h.campaign_id AND "+
		"p.packet = h.packet AND p.claim = h.claim AND p.user_id = h.user_id AND p.amount = h.amount AND "+
		"p.won_at = h.won_at AND p.drop_id = h.drop_id WHERE h.claim > '' AND p.packet IS NULL "+
		"AND NOT EXISTS (SELECT 1 FROM archive a WHERE a.campaign_id = h.campaign_id) ORDER BY h.claim LIMIT ?",
		maxFindings+1)
}
