package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Campaigns are the campaigns' rows, and what is left of each one's money. The zero value is not usable.
type Campaigns struct {
	db      *sqldb.DB
	clock   rain.Clock
	rows    *campaignRows
	amounts *rain.AmountsCache
	poster  *posting.Poster
}

// CreateCampaign records a campaign and moves its budget from the sponsor to its escrow, both or neither. c must be
// valid; its status is Loading until its packets are stocked. The errors are ErrCampaignExists, ErrUnknownSponsor,
// ErrInsufficientFunds, and a rain.Invalid where its list of players is none.
func (s *Campaigns) CreateCampaign(ctx context.Context, c *rain.Campaign) error {
	if !posting.IsCampaignID(c.ID) || c.Status != rain.Loading || c.Budget < 1 || len(c.Rains) > 0 {
		return fmt.Errorf("campaign %q: a new campaign has an id and a budget, is loading, and has no rains", c.ID)
	}
	var amounts []byte
	if c.Amounts != nil {
		var err error
		if amounts, err = json.Marshal(c.Amounts); err != nil {
			return fmt.Errorf("campaign %s: %w", c.ID, err)
		}
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := insertCampaign(ctx, tx, c, amounts); err != nil {
			return err
		}
		if err := checkInvited(ctx, tx, c.Invited(), s.clock()); err != nil {
			return err
		}
		if err := posting.Tally(ctx, tx, map[string]posting.Totals{c.ID: {}}); err != nil {
			return err
		}
		fund := booking.Move(booking.KindFund, posting.FundKey(c.ID), booking.SponsorAccount(c.Sponsor),
			booking.EscrowAccount(c.ID), c.Budget)
		fund.Papers = campaignPaper(c, amounts)
		if _, err := booking.Book(ctx, tx, s.clock(), []booking.Txn{fund}, nil); err != nil {
			return err
		}
		left, _, err := booking.BalanceOf(ctx, tx, booking.SponsorAccount(c.Sponsor))
		if err != nil {
			return err
		}
		after := campaignState(c)
		maps.Copy(after.state, map[string]any{"name": c.Name, "sponsor": c.Sponsor, "budget": c.Budget,
			"packets": c.Packets, "sponsor_balance": left})
		return auditChange(ctx, tx, s.clock(), change{state: map[string]any{"sponsor_balance": left + c.Budget}}, after)
	})
	if short := (*booking.OverdraftError)(nil); errors.As(err, &short) && !short.Exists {
		return fmt.Errorf("%q: %w", c.Sponsor, ErrUnknownSponsor)
	}
	return err
}

// insertCampaign writes the rows of a new campaign. amounts are its given ones as JSON; nil: it has none.
func insertCampaign(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign, amounts []byte) error {
	err := CampaignTable.Insert(ctx, tx, sqldb.Merge{}, *c)
	if sqldb.IsDuplicate(err) {
		return fmt.Errorf("campaign %s: %w", c.ID, ErrCampaignExists)
	}
	if err != nil || amounts == nil {
		return err
	}
	return tx.Insert(ctx, "campaign_amounts", []string{"campaign_id", "amounts"}, [][]any{{c.ID, string(amounts)}},
		sqldb.Merge{})
}

// Abandon gives the whole budget of a campaign that could not be stocked back to its sponsor and closes it. Nobody
// can have won anything of it: rains fall on stocked campaigns only. What was stocked is still in Redis, so it is
// not drained. A closed campaign stays as it is; an open one is ErrCampaignStocked.
func (s *Campaigns) Abandon(ctx context.Context, id string) (*rain.Campaign, error) {
	return s.update(ctx, id, func(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign) error {
		switch c.Status {
		case rain.Closed:
			return nil
		case rain.Loading:
		default:
			return fmt.Errorf("campaign %s: %w", id, ErrCampaignStocked)
		}
		c.Status = rain.Closed
		return s.poster.ReturnBudget(ctx, tx, c)
	})
}

// Campaign reads a campaign; ErrUnknownCampaign where there is none, ErrUnreadableCampaign where its row makes no
// sense.
func (s *Campaigns) Campaign(ctx context.Context, id string) (*rain.Campaign, error) {
	found, err := s.campaigns(ctx, "WHERE id = ?", id)
	return one(found, id, err)
}

// CampaignAsStored reads a campaign from the database, with its amounts, also where its row makes no sense: then it has
// a Fault. ErrUnknownCampaign where there is none.
func (s *Campaigns) CampaignAsStored(ctx context.Context, id string) (*rain.Campaign, error) {
	s.rows.forgetAmountsOf(id)
	found, err := s.campaigns(ctx, "WHERE id = ?", id)
	if err == nil && len(found) == 0 {
		return nil, fmt.Errorf("%q: %w", id, posting.ErrUnknownCampaign)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// campaigns reads campaigns and rains in one snapshot, so that revision and rains agree.
func (s *Campaigns) campaigns(ctx context.Context, where string, args ...any) (list []*rain.Campaign, err error) {
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		list, err = s.rows.read(ctx, tx, where, args...)
		return err
	})
	return list, err
}

// Live lists the campaigns that may still have something in Redis: all but the drained ones. It leaves out those whose
// rows make no sense, so that these hold up no other one; the proof of the books names them.
func (s *Campaigns) Live(ctx context.Context) ([]*rain.Campaign, error) {
	live, err := s.campaigns(ctx, "WHERE drained = 0 ORDER BY id")
	if err != nil {
		return nil, err
	}
	live = slices.DeleteFunc(live, func(c *rain.Campaign) bool { return c.Fault != "" })
	s.rows.forgetAmounts(live)
	return live, nil
}

// undrained selects campaigns whose drained is not 1. Other values than 0 and 1 count as undrained. SQLite uses no
// index for <>, nor if the ids are to be in order.
const undrained = "(drained < 1 OR drained > 1)"

// LiveIDs lists the ids of the campaigns that are not drained, or of which nobody can say, also of those that Live
// leaves out.
func (s *Campaigns) LiveIDs(ctx context.Context) ([]string, error) {
	ids, err := sqldb.Column[string](ctx, s.db, "SELECT id FROM campaign WHERE "+undrained)
	slices.Sort(ids)
	return ids, sqldb.Wrap(err, "reading campaigns")
}

// Update changes a campaign: its status, expiry, whether it is drained, and its rains, of which none may vanish. The
// revision rises by one where change has changed anything. No other Update of the campaign runs meanwhile, on any node.
// change may be called several times, each time with a fresh copy; its error is returned as it is and leaves the
// campaign as it was. Changing anything else is ErrImmutable. With ErrUnchanged, Update returns the campaign as it is,
// and there is nothing to audit.
func (s *Campaigns) Update(ctx context.Context, id string, change func(*rain.Campaign) error) (*rain.Campaign, error) {
	return s.update(ctx, id, func(_ context.Context, _ *sqldb.Tx, c *rain.Campaign) error { return change(c) })
}

func (s *Campaigns) update(ctx context.Context, id string,
	change func(context.Context, *sqldb.Tx, *rain.Campaign) error,
) (updated *rain.Campaign, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		found, err := s.rows.read(ctx, tx, "WHERE id = ?"+tx.ForUpdate(), id)
		before, err := one(found, id, err)
		if err != nil {
			return err
		}
		after := before.Clone()
		switch err := change(ctx, tx, after); {
		case errors.Is(err, ErrUnchanged):
			updated = before
			return nil
		case err != nil:
			return err
		}
		updated = after
		if err := saveCampaign(ctx, tx, before, after); err != nil {
			return err
		}
		return auditChange(ctx, tx, s.clock(), campaignState(before), campaignState(after))
	})
	if err != nil {
		return nil, err
	}
	return updated, nil
}

// saveCampaign writes what differs, and raises after's revision if anything does.
func saveCampaign(ctx context.Context, tx *sqldb.Tx, before, after *rain.Campaign) error {
	if len(after.Rains) < len(before.Rains) {
		return fmt.Errorf("campaign %s: a rain has vanished: %w", before.ID, ErrImmutable)
	}
	var rains []rainRow
	for i := range after.Rains {
		if i >= len(before.Rains) || after.Rains[i] != before.Rains[i] {
			row := rainRow{Rain: after.Rains[i], ordinal: i}
			row.Campaign = before.ID
			rains = append(rains, row)
		}
	}
	fixed := *after
	fixed.Status, fixed.ExpiresAt, fixed.Drained, fixed.Rains = before.Status, before.ExpiresAt, before.Drained,
		before.Rains
	if !reflect.DeepEqual(&fixed, before) {
		return fmt.Errorf("campaign %s: %w", before.ID, ErrImmutable)
	}
	if len(rains) == 0 && after.Status == before.Status && after.ExpiresAt == before.ExpiresAt &&
		after.Drained == before.Drained {
		return nil
	}
	after.Revision++
	_, err := tx.Exec(ctx, "UPDATE campaign SET status = ?, expires_at = ?, drained = ?, revision = ? WHERE id = ?",
		string(after.Status), after.ExpiresAt, after.Drained, after.Revision, after.ID)
	if err != nil {
		return fmt.Errorf("campaign %s: %w", after.ID, err)
	}
	columns := RainTable.Columns()
	return RainTable.Insert(ctx, tx, sqldb.Merge{Key: columns[:2], Set: columns[2:]}, rains...)
}

// campaignState is a campaign as the audit log compares it.
func campaignState(c *rain.Campaign) change {
	state := map[string]any{"status": c.Status, "revision": c.Revision, "expires_at": c.ExpiresAt,
		"rains": len(c.Rains)}
	if r := c.Current(); r != nil {
		state["rain"] = map[string]any{"id": r.ID, "starts_at": r.StartsAt, "duration_ms": r.DurationMS,
			"stopped_at": r.StoppedAt}
	}
	return change{target: "campaign:" + c.ID, state: state}
}
