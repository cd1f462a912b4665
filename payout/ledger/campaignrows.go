package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// CampaignTable maps the rows of campaigns. Exports have the same columns in the same order.
var CampaignTable = sqldb.NewTable("campaign", func(c *rain.Campaign) []any {
	return append(append([]any{"id", &c.ID}, sqldb.Fields(&c.Spec)...),
		"players_list", sqldb.Via(c.Invited, func(list string) error {
			if list != "" {
				c.Players = &rain.Players{List: list}
			}
			return nil
		}),
		"status", &c.Status, "created_at", &c.CreatedAt, "expires_at", &c.ExpiresAt, "revision", &c.Revision,
		"drained", sqldb.Via(func() (drained int64) {
			if c.Drained {
				drained = 1
			}
			return drained
		}, func(drained int64) error {
			if c.Drained = drained == 1; drained < 0 || drained > 1 {
				c.Fault = fmt.Sprintf("drained is %d", drained)
			}
			return nil
		}),
		"split_seed", sqldb.Via(c.SplitSeed.Hex, func(text string) (err error) {
			if c.SplitSeed, err = rain.ParseSeed(text); err != nil {
				c.Fault = "split_seed: " + err.Error()
			}
			return nil
		}))
})

// campaignPaper hashes a campaign's fixed columns and its given amounts, in chain's order.
func campaignPaper(c *rain.Campaign, amounts []byte) chain.Hash {
	var p chain.Content
	values := CampaignTable.Values(c)
	values["amounts"] = amounts
	for _, column := range chain.PaperColumns("fund") {
		_, name, _ := strings.Cut(column, ".")
		p.Add(values[name])
	}
	return p.Sum()
}

type rainRow struct {
	rain.Rain

	ordinal int
	fault   error // why the seed is invalid
}

// RainTable maps the rows of rains, as CampaignTable does. The first two columns are the key.
var RainTable = sqldb.NewTable("rain", func(r *rainRow) []any {
	start := []any{"campaign_id", &r.Campaign, "ordinal", &r.ordinal, "id", &r.ID, "starts_at", &r.StartsAt}
	return append(append(start, sqldb.Fields(&r.Settings)...),
		"odds_record", &r.OddsRecord, "first_wave", &r.FirstWave,
		"seed", sqldb.Via(r.Seed.Hex, func(text string) error {
			r.Seed, r.fault = rain.ParseSeed(text)
			return nil
		}),
		"stopped_at", &r.StoppedAt)
})

// viewLimit is the time limit of a view of a few rows.
const viewLimit = 5 * time.Second

// campaignRows reads campaigns.
type campaignRows struct {
	amounts sync.Map // id → []rain.Money: given amounts of live campaigns; they never change and may be millions
}

// Read reads a campaign in a transaction. It returns posting.ErrUnknownCampaign if the id is unknown.
func (r *campaignRows) Read(ctx context.Context, q sqldb.Querier, id string) (*rain.Campaign, error) {
	found, err := r.read(ctx, q, "WHERE id = ?", id)
	return one(found, id, err)
}

// one returns a list's only campaign, posting.ErrUnknownCampaign, or posting.ErrUnreadableCampaign (an invalid row).
func one(found []*rain.Campaign, id string, err error) (*rain.Campaign, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%q: %w", id, posting.ErrUnknownCampaign)
	case found[0].Fault != "":
		return nil, fmt.Errorf("%q: %w: %s", id, posting.ErrUnreadableCampaign, found[0].Fault)
	}
	return found[0], nil
}

// read reads campaigns. A campaign with an invalid row gets a Fault. The others are still returned.
func (r *campaignRows) read(ctx context.Context, q sqldb.Querier, where string,
	args ...any) ([]*rain.Campaign, error) {
	list, err := CampaignTable.List(ctx, q, where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading campaigns: %w", err)
	}
	return r.complete(ctx, q, list)
}

// complete adds rains and given amounts to campaigns.
func (r *campaignRows) complete(ctx context.Context, q sqldb.Querier,
	list []rain.Campaign) ([]*rain.Campaign, error) {
	found, byID := make([]*rain.Campaign, len(list)), map[string]*rain.Campaign{}
	for i := range list {
		found[i], byID[list[i].ID] = &list[i], &list[i]
	}
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(byID)), sqldb.Chunk) {
		rains, err := RainTable.List(ctx, q, "WHERE campaign_id IN "+sqldb.Marks(len(chunk))+
			" ORDER BY campaign_id, ordinal", sqldb.Args(chunk)...)
		if err != nil {
			return nil, fmt.Errorf("reading rains: %w", err)
		}
		for _, r := range rains {
			c := byID[r.Campaign]
			switch {
			case r.fault != nil:
				c.Fault = fmt.Sprintf("the seed of rain %s: %v", r.ID, r.fault)
			case r.ordinal != len(c.Rains):
				c.Fault = fmt.Sprintf("rain %s is number %d, but comes after %d rains", r.ID, r.ordinal, len(c.Rains))
			}
			c.Rains = append(c.Rains, r.Rain)
		}
	}
	for _, c := range found {
		if c.Split == rain.List {
			if err := r.readAmounts(ctx, q, c); err != nil {
				return nil, err
			}
		}
		if err := c.CheckStored(); err != nil && c.Fault == "" {
			c.Fault = err.Error()
		}
	}
	return found, nil
}

// readAmounts reads a campaign's given amounts once, because every node reads its live campaigns every few seconds.
func (r *campaignRows) readAmounts(ctx context.Context, q sqldb.Querier, c *rain.Campaign) error {
	if known, ok := r.amounts.Load(c.ID); ok {
		c.Amounts, _ = known.([]rain.Money)
		return nil
	}
	var text []byte
	found, err := q.First(ctx, []any{&text}, "SELECT amounts FROM campaign_amounts WHERE campaign_id = ?", c.ID)
	if err != nil || !found {
		return sqldb.Wrap(err, "amounts of campaign %s", c.ID)
	}
	if err := json.Unmarshal(text, &c.Amounts); err != nil {
		c.Amounts, c.Fault = nil, "amounts: "+err.Error()
	} else {
		r.amounts.Store(c.ID, c.Amounts)
	}
	return nil
}
