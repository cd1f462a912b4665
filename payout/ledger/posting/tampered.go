package posting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// A campaign's row says whose money is left, and whether it is over. What goes back to a sponsor cannot be taken from
// them again, so nothing goes back by a row that somebody has changed by hand. What changes of a row is held by its
// history. All else, and who has paid, is held by the transaction that has funded the campaign: the row is its paper.

// FundKey is the key of the transaction that funds a campaign.
func FundKey(campaign string) string { return booking.KindFund + ":" + campaign }

// ErrUnproved is a history.ErrTampered of a campaign whose own rows may be right: nobody can say.
var ErrUnproved = fmt.Errorf("somebody has removed, from the database, the transaction in the chain before the one "+
	"that has funded it: %w", history.ErrTampered)

// CheckCampaign fails with history.ErrTampered for a campaign of which somebody has changed something by hand, or has
// removed its row. One that there has never been is whole. Its row must be locked, or q be a view: another's change
// might be read half.
func CheckCampaign(ctx context.Context, q sqldb.Querier, id string) error {
	whole, err := history.Whole(ctx, q, history.Campaign, id)
	if err != nil {
		return err
	}
	var one int
	is, err := q.First(ctx, []any{&one}, "SELECT 1 FROM campaign WHERE id = ?", id)
	if err != nil {
		return err
	}
	funded := chain.Whole
	if is && len(whole) > 0 {
		if funded, err = chain.StateOf(ctx, q, FundKey(id)); err != nil {
			return err
		}
	}
	switch {
	case len(whole) == 0 || funded == chain.Changed:
		return fmt.Errorf("%s %s: %w", history.Campaign, id, history.ErrTampered)
	case funded == chain.Unproved:
		return fmt.Errorf("%s %s: %w", history.Campaign, id, ErrUnproved)
	}
	return nil
}

// LockCampaigns keeps the rows of campaigns as they are until the end of tx, and tells which of them somebody has
// changed by hand. Whoever does the same waits for nobody.
func LockCampaigns(ctx context.Context, tx *sqldb.Tx, ids []string) (tampered map[string]error, err error) {
	tampered = map[string]error{}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // in key order, as everything that several workers lock
	for _, id := range ids {
		var one int
		if _, err := tx.First(ctx, []any{&one}, "SELECT 1 FROM campaign WHERE id = ?"+tx.ForShare(), id); err != nil {
			return nil, err
		}
		switch err := CheckCampaign(ctx, tx, id); {
		case errors.Is(err, history.ErrTampered):
			tampered[id] = err
		case err != nil:
			return nil, err
		}
	}
	return tampered, nil
}

// LockCampaign is LockCampaigns of one, and fails where somebody has changed it.
func LockCampaign(ctx context.Context, tx *sqldb.Tx, id string) error {
	tampered, err := LockCampaigns(ctx, tx, []string{id})
	return cmp.Or(err, tampered[id])
}

// lockGivingBack locks the campaigns that entries give something back to the sponsors of.
func lockGivingBack(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry) (tampered map[string]error, err error) {
	var ids []string
	for i := range entries {
		if entries[i].Reclaim != nil {
			ids = append(ids, entries[i].Ref.Campaign)
		}
	}
	return LockCampaigns(ctx, tx, ids)
}

// Waiting is an entry whose reclaim waits, because somebody has changed its campaign by hand. Its wins are posted.
type Waiting struct {
	Ref   rain.EntryRef
	Cause error // history.ErrTampered
}

// refuseWaiting fails where a reclaim waits.
func (b *batch) refuseWaiting() error {
	if len(b.waiting) == 0 {
		return nil
	}
	return b.waiting[0].Cause
}
