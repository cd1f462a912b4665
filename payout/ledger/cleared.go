package ledger

import (
	"cmp"
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Cleared reports whether a campaign's escrow has only the money of its dead letters: every other packet is paid or
// returned to the sponsor. Only the ledger can decide that, because a Redis without data looks empty, too.
func (s *Campaigns) Cleared(ctx context.Context, campaign string) (bool, error) {
	balance, dead, err := s.escrow(ctx, campaign)
	return err == nil && balance <= dead, err
}

// Emptied reports whether a campaign's escrow is empty, including the money of dead letters.
func (s *Campaigns) Emptied(ctx context.Context, campaign string) (bool, error) {
	balance, _, err := s.escrow(ctx, campaign)
	return err == nil && balance == 0, err
}

// escrow returns the balance of a campaign's escrow, and the sum of its dead letters.
func (s *Campaigns) escrow(ctx context.Context, campaign string) (balance, dead rain.Money, err error) {
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&balance}, "SELECT amount FROM balance WHERE account_id = ?",
			booking.EscrowAccount(campaign).ID())
		if err != nil {
			return err
		}
		_, err = tx.First(ctx, []any{&dead}, "SELECT COALESCE(SUM(amount), 0) "+posting.LettersInEscrow, campaign)
		if err != nil {
			return err
		}
		more, err := s.ofUnknownAmount(ctx, tx, campaign)
		dead += more
		return err
	})
	return balance, dead, sqldb.Wrap(err, "read the escrow of campaign %s", campaign)
}

// ofUnknownAmount returns the sum of dead letters that were written while the campaign's row was invalid.
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

// Totals returns a campaign's paid and returned packets and amounts; they are 0 for an unknown campaign.
func (s *Campaigns) Totals(ctx context.Context, campaign string) (t posting.Totals, err error) {
	_, err = s.db.First(ctx, []any{&t.Paid, &t.AmountPaid, &t.Reclaimed, &t.AmountReclaimed},
		"SELECT paid, amount_paid, reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?", campaign)
	return t, sqldb.Wrap(err, "read the totals of campaign %s", campaign)
}

// DueCampaign is a campaign that the reclaimer must end: it is expired and not closed, or closed and not drained.
type DueCampaign struct {
	ID        string
	Status    rain.Status
	ExpiresAt int64
}

var dueTable = sqldb.NewTable("campaign", func(d *DueCampaign) []any {
	return []any{"id", &d.ID, "status", &d.Status, "expires_at", &d.ExpiresAt}
})

// Due lists the campaigns that are due at now. Expired campaigns that still pay out come first, each group by expiry.
func (s *Campaigns) Due(ctx context.Context, now int64) ([]DueCampaign, error) {
	list, err := dueTable.List(ctx, s.db, "WHERE drained = 0 AND (status = 'closed' OR expires_at <= ?)", now)
	slices.SortFunc(list, func(a, b DueCampaign) int {
		if aEnds, bEnds := a.Status == rain.Closed, b.Status == rain.Closed; aEnds != bEnds {
			return map[bool]int{true: 1, false: -1}[aEnds]
		}
		return cmp.Or(cmp.Compare(a.ExpiresAt, b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return list, sqldb.Wrap(err, "find due campaigns")
}
