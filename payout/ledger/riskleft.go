package ledger

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
)

// doubtfulReadings is how often a win does not seem to be what its history says, until that counts. A row and its
// history are read one after the other: somebody may have decided about the win in between, which happens once.
const doubtfulReadings = 3

// tamperedHeld are the claims of those wins that somebody has changed by hand, in order as the wins are. As long as
// somebody may just be deciding about one of them, all are to be read again. It counts in seemed, over the tries of a
// transaction.
func tamperedHeld(ctx context.Context, tx *sqldb.Tx, wins []Held, seemed map[string]int) (tampered []string,
	err error) {
	claims := make([]string, len(wins))
	for i, h := range wins {
		claims[i] = h.Claim
	}
	whole, err := history.Whole(ctx, tx, history.Held, claims...)
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		if _, is := slices.BinarySearch(whole, claim); is {
			continue
		}
		tampered = append(tampered, claim)
		if seemed[claim]++; seemed[claim] < doubtfulReadings {
			err = fmt.Errorf("%w: %s %s: %w", sqldb.ErrAgain, history.Held, claim, history.ErrTampered)
		}
	}
	return tampered, err
}

// leaveTamperedCampaigns leaves the open wins of campaigns that somebody has changed by hand as they are. It locks the
// others' rows, so that their sponsors stay who they are.
func (d *Decided) leaveTamperedCampaigns(ctx context.Context, tx *sqldb.Tx) error {
	var campaigns []string
	for _, h := range d.Wins {
		if h.State == HeldOpen && !d.IsLeft(h.Claim) {
			campaigns = append(campaigns, h.Campaign)
		}
	}
	tampered, err := posting.LockCampaigns(ctx, tx, campaigns)
	if err != nil {
		return err
	}
	left := d.Left
	for _, h := range d.Wins {
		if h.State == HeldOpen && !d.IsLeft(h.Claim) && tampered[h.Campaign] != nil {
			left = append(left, h.Claim)
		}
	}
	d.Left = slices.Sorted(slices.Values(left))
	return nil
}
