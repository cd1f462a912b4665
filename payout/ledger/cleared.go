package ledger

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Cleared tells whether a campaign's escrow holds nothing any more but what its dead letters wait for: every packet
// is paid or back at the sponsor. Only the ledger can say so; a Redis that has forgotten looks just as empty.
func (s *Campaigns) Cleared(ctx context.Context, campaign string) (bool, error) {
	held, dead, err := s.held(ctx, campaign)
	return err == nil && held <= dead, err
}

// Emptied is Cleared without the allowance for dead letters: the escrow holds nothing.
func (s *Campaigns) Emptied(ctx context.Context, campaign string) (bool, error) {
	held, _, err := s.held(ctx, campaign)
	return err == nil && held == 0, err
}

// held is what a campaign's escrow holds, and what its dead letters ask for.
func (s *Campaigns) held(ctx context.Context, campaign string) (held, dead rain.Money, err error) {
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&held}, "SELECT amount FROM balance WHERE account_id = ?",
			booking.EscrowAccount(campaign).ID())
		if err != nil {
			return err
		}
		_, err = tx.First(ctx, []any{&dead}, "SELECT COALESCE(SUM(amount), 0) "+posting.HeldLetters, campaign)
		if err != nil {
			return err
		}
		more, err := s.ofUnknownAmount(ctx, tx, campaign)
		dead += more
		return err
	})
	return held, dead, sqldb.Wrap(err, "what the escrow of campaign %s holds", campaign)
}

// ofUnknownAmount is what dead letters ask for that were written while nobody knew what the campaign's packets hold.
func (s *Campaigns) ofUnknownAmount(ctx context.Context, tx *sqldb.Tx, campaign string) (sum rain.Money, err error) {
	packets, err := sqldb.Column[int](ctx, tx, "SELECT DISTINCT packet FROM dead_letter WHERE campaign_id = ? "+
		"AND resolved_at = 0 AND "+posting.NoAmount+" AND NOT EXISTS (SELECT 1 FROM payout p "+
		"WHERE p.campaign_id = dead_letter.campaign_id AND p.packet = dead_letter.packet)", campaign)
	if err != nil || len(packets) == 0 {
		return 0, err
	}
	c, err := s.rows.Read(ctx, tx, campaign)
	if err != nil {
		return 0, err
	}
	amounts, err := s.amounts.Of(c)
	if err != nil {
		return 0, err
	}
	for _, p := range packets {
		sum += amounts.Of(p)
	}
	return sum, nil
}

// Paid is how many packets of a campaign are in the ledger, and their amount. It is 0 for an unknown campaign.
func (s *Campaigns) Paid(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error) {
	_, err = s.db.First(ctx, []any{&packets, (*int64)(&amount)},
		"SELECT paid, amount_paid FROM campaign_tally WHERE campaign_id = ?", campaign)
	return packets, amount, sqldb.Wrap(err, "what campaign %s has paid", campaign)
}

// GivenBack is how many packets of a campaign went back to its sponsor, and their amount. It is 0 for an unknown
// campaign.
func (s *Campaigns) GivenBack(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error) {
	_, err = s.db.First(ctx, []any{&packets, (*int64)(&amount)},
		"SELECT reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?", campaign)
	return packets, amount, sqldb.Wrap(err, "what campaign %s gave back", campaign)
}
