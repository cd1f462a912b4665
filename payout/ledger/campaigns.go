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

// Campaigns reads and writes the campaigns' rows and their escrows. The zero value is not usable.
type Campaigns struct {
	db      *sqldb.DB
	clock   rain.Clock
	rows    *campaignRows
	amounts *rain.AmountsCache
	poster  *posting.Poster
}

// CreateCampaign inserts a campaign and moves its budget from the sponsor to its escrow, in one transaction. c must be
// valid. Its status is Loading until its packets are stocked. The errors are ErrCampaignExists, ErrUnknownSponsor,
// booking.ErrInsufficientFunds, and a rain.Invalid if its list of players is invalid.
func (s *Campaigns) CreateCampaign(ctx context.Context, c *rain.Campaign) error {
	if !posting.IsCampaignID(c.ID) || c.Status != rain.Loading || c.Budget < 1 || len(c.Rains) > 0 {
		return fmt.Errorf("create campaign %q: want an id, a budget, status loading, no rains", c.ID)
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

// insertCampaign inserts the rows of a new campaign. amounts is JSON; nil: the seed gives the amounts.
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

// Abandon returns the whole budget of a campaign that could not be stocked to its sponsor and closes it. No packet
// was won, because rains fall only on stocked campaigns. Redis still has some stock, so the campaign is not drained.
// A closed campaign stays as it is. An open one fails with ErrCampaignStocked.
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

// Campaign reads a campaign. The errors are posting.ErrUnknownCampaign and ErrUnreadableCampaign (an invalid row).
func (s *Campaigns) Campaign(ctx context.Context, id string) (*rain.Campaign, error) {
	found, err := s.campaigns(ctx, "WHERE id = ?", id)
	return one(found, id, err)
}

// CampaignAsStored reads a campaign with its amounts from the database. If its row is invalid, the campaign has a
// Fault. It fails with posting.ErrUnknownCampaign if there is none.
func (s *Campaigns) CampaignAsStored(ctx context.Context, id string) (*rain.Campaign, error) {
	s.rows.amounts.Delete(id)
	found, err := s.campaigns(ctx, "WHERE id = ?", id)
	if err == nil && len(found) > 0 {
		return found[0], nil
	}
	return one(found, id, err)
}

// campaigns reads campaigns and rains in one snapshot, so that revision and rains agree.
func (s *Campaigns) campaigns(ctx context.Context, where string, args ...any) (list []*rain.Campaign, err error) {
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		list, err = s.rows.read(ctx, tx, where, args...)
		return err
	})
	return list, err
}

// Live lists the campaigns that are not drained. Redis keeps the keys of a drained one for a day. It leaves out
// invalid rows, so that they do not block the others. Reconciliation reports them.
func (s *Campaigns) Live(ctx context.Context) ([]*rain.Campaign, error) {
	live, err := s.campaigns(ctx, "WHERE drained = 0 ORDER BY id")
	if err != nil {
		return nil, err
	}
	live = slices.DeleteFunc(live, func(c *rain.Campaign) bool { return c.Fault != "" })
	ids := map[any]bool{}
	for _, c := range live {
		ids[c.ID] = true
	}
	s.rows.amounts.Range(func(id, _ any) bool {
		if !ids[id] {
			s.rows.amounts.Delete(id)
		}
		return true
	})
	return live, nil
}

// undrained selects campaigns whose drained is not 1. Other values than 0 and 1 count as undrained. SQLite uses no
// index for <>, nor if the ids are to be in order.
const undrained = "(drained < 1 OR drained > 1)"

// LiveIDs lists the ids of the campaigns that are not drained, including those with an invalid row.
func (s *Campaigns) LiveIDs(ctx context.Context) ([]string, error) {
	ids, err := sqldb.Column[string](ctx, s.db, "SELECT id FROM campaign WHERE "+undrained)
	slices.Sort(ids)
	return ids, sqldb.Wrap(err, "read the ids of live campaigns")
}

// Update changes a campaign: its status, expiry, whether it is drained, and its rains. It keeps all existing rains.
// If change has changed a field, the revision rises by one. No other Update of the campaign runs meanwhile, on any
// node. change may be called several times, each time with a fresh copy. Its error is returned unchanged and leaves
// the campaign as it was. A change of any other field fails with ErrImmutable. If change returns ErrUnchanged, Update
// returns the campaign without error and writes nothing to the audit.
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

func saveCampaign(ctx context.Context, tx *sqldb.Tx, before, after *rain.Campaign) error {
	if len(after.Rains) < len(before.Rains) {
		return fmt.Errorf("update campaign %s: a rain is missing: %w", before.ID, ErrImmutable)
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

func campaignState(c *rain.Campaign) change {
	state := map[string]any{"status": c.Status, "revision": c.Revision, "expires_at": c.ExpiresAt,
		"rains": len(c.Rains)}
	if r := c.Current(); r != nil {
		state["rain"] = map[string]any{"id": r.ID, "starts_at": r.StartsAt, "duration_ms": r.DurationMS,
			"stopped_at": r.StoppedAt}
	}
	return change{target: "campaign:" + c.ID, state: state}
}
