package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

var campaignColumns = []string{
	"id", "name", "sponsor", "budget", "packets", "split", "min_amount", "max_amount", "wins_per_user", "taps_per_user",
	"shards", "capacity", "admit_per_second", "players_list", "guests_share",
	"expires_in_ms", "status", "created_at", "expires_at", "revision",
	"drained", "split_seed",
}

func campaignRow(c *rain.Campaign) []any {
	var most any
	if c.Max != nil {
		most = int64(*c.Max)
	}
	return []any{
		c.ID, c.Name, c.Sponsor, int64(c.Budget), c.Packets, string(c.Split), int64(c.Min), most, c.WinsPerUser,
		c.TapsPerUser,
		c.Shards, c.Capacity, c.AdmitPerSecond, c.Invited(), int64(c.GuestsShare),
		c.ExpiresInMS, string(c.Status), c.CreatedAt, c.ExpiresAt, c.Revision,
		c.Drained,
		c.SplitSeed.Hex(),
	}
}

// campaignPaper is a campaign's row as the chain holds it: what never changes of it, with its given amounts.
func campaignPaper(c *rain.Campaign, amounts []byte) chain.Hash {
	var p chain.Content
	p.Text(c.ID)
	p.Text(c.Name)
	p.Text(c.Sponsor)
	p.Int(int64(c.Budget))
	p.Int(int64(c.Packets))
	p.Text(string(c.Split))
	p.Int(int64(c.Min))
	if c.Max != nil {
		p.Int(int64(*c.Max))
	} else {
		p.Null()
	}
	for _, n := range []int64{
		int64(c.WinsPerUser), int64(c.TapsPerUser), int64(c.Shards), int64(c.Capacity), int64(c.AdmitPerSecond),
		c.ExpiresInMS, c.CreatedAt,
	} {
		p.Int(n)
	}
	p.Text(c.Invited())
	p.Int(int64(c.GuestsShare))
	p.Text(c.SplitSeed.Hex())
	if amounts != nil {
		p.Bytes(amounts)
	} else {
		p.Null()
	}
	return p.Sum()
}

func scanCampaign(scan sqldb.Scan) (*rain.Campaign, error) {
	c := &rain.Campaign{}
	var most sql.NullInt64
	var seed, invited string
	var drained int64
	err := scan(&c.ID, &c.Name, &c.Sponsor, &c.Budget, &c.Packets, &c.Split, &c.Min, &most, &c.WinsPerUser,
		&c.TapsPerUser,
		&c.Shards, &c.Capacity, &c.AdmitPerSecond, &invited, &c.GuestsShare, &c.ExpiresInMS, &c.Status,
		&c.CreatedAt, &c.ExpiresAt, &c.Revision, &drained, &seed)
	if err != nil {
		return nil, err
	}
	if most.Valid {
		m := rain.Money(most.Int64)
		c.Max = &m
	}
	if invited != "" {
		c.Players = &rain.Players{List: invited}
	}
	if c.Drained = drained == 1; drained < 0 || drained > 1 {
		c.Fault = fmt.Sprintf("drained is %d", drained)
	}
	if c.SplitSeed, err = rain.ParseSeed(seed); err != nil {
		c.Fault = "split_seed: " + err.Error()
	}
	return c, nil
}

// The first two are the key.
var rainColumns = []string{
	"campaign_id", "ordinal", "id", "starts_at", "duration_ms", "drops_per_second", "fall_ms", "decoy_percent",
	"pacing", "odds", "beat_ms", "odds_record",
	"first_wave", "seed", "stopped_at",
}

func rainRow(campaign string, ordinal int, r *rain.Rain) []any {
	return []any{
		campaign, ordinal, r.ID, r.StartsAt, r.DurationMS, r.DropsPerSecond, r.FallMS, r.DecoyPercent, string(r.Pacing),
		int64(r.Odds), r.BeatMS, string(r.OddsRecord),
		r.FirstWave, r.Seed.Hex(), r.StoppedAt,
	}
}

// scanRain reads a rain; fault is what makes no sense in its row.
func scanRain(scan sqldb.Scan) (r rain.Rain, ordinal int, fault, err error) {
	var seed string
	err = scan(&r.Campaign, &ordinal, &r.ID, &r.StartsAt, &r.DurationMS, &r.DropsPerSecond, &r.FallMS, &r.DecoyPercent,
		&r.Pacing, &r.Odds, &r.BeatMS, &r.OddsRecord,
		&r.FirstWave, &seed, &r.StoppedAt)
	if err == nil {
		r.Seed, fault = rain.ParseSeed(seed)
	}
	return r, ordinal, fault, err
}

// viewLimit is how long a view of a few rows may take.
const viewLimit = 5 * time.Second

// campaignRows reads campaigns.
type campaignRows struct {
	mu      sync.Mutex
	amounts map[string][]rain.Money // given amounts of live campaigns: they never change and may be millions
}

// Read reads a campaign in a transaction; ErrUnknownCampaign where there is none.
func (r *campaignRows) Read(ctx context.Context, q sqldb.Querier, id string) (*rain.Campaign, error) {
	found, err := r.read(ctx, q, "WHERE id = ?", id)
	return one(found, id, err)
}

// one is the only campaign of a list. It fails with ErrUnknownCampaign where there is none, and with
// ErrUnreadableCampaign where its row makes no sense.
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

// read reads campaigns. One whose row makes no sense has a Fault, and hides no other one.
func (r *campaignRows) read(ctx context.Context, q sqldb.Querier, where string,
	args ...any) ([]*rain.Campaign, error) {
	list, err := sqldb.List(ctx, q, scanCampaign,
		"SELECT "+strings.Join(campaignColumns, ", ")+" FROM campaign "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading campaigns: %w", err)
	}
	byID := map[string]*rain.Campaign{}
	for chunk := range slices.Chunk(list, sqldb.Chunk) {
		ids := make([]any, len(chunk))
		for i, c := range chunk {
			ids[i], byID[c.ID] = c.ID, c
		}
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			r, ordinal, fault, err := scanRain(scan)
			if err != nil {
				return err
			}
			c := byID[r.Campaign]
			switch {
			case fault != nil:
				c.Fault = fmt.Sprintf("the seed of rain %s: %v", r.ID, fault)
			case ordinal != len(c.Rains):
				c.Fault = fmt.Sprintf("rain %s is number %d, but comes after %d rains", r.ID, ordinal, len(c.Rains))
			}
			c.Rains = append(c.Rains, r)
			return nil
		}, "SELECT "+strings.Join(rainColumns, ", ")+" FROM rain WHERE campaign_id IN "+sqldb.Marks(len(ids))+
			" ORDER BY campaign_id, ordinal", ids...)
		if err != nil {
			return nil, fmt.Errorf("reading rains: %w", err)
		}
	}
	for _, c := range list {
		if c.Split == rain.List {
			c.Amounts, err = r.givenAmounts(ctx, q, c.ID)
			if bad := (*badAmountsError)(nil); errors.As(err, &bad) {
				c.Fault = bad.Error()
			} else if err != nil {
				return nil, err
			}
		}
		if err := c.CheckStored(); err != nil && c.Fault == "" {
			c.Fault = err.Error()
		}
	}
	return list, nil
}

// badAmountsError is a list of amounts that is none.
type badAmountsError struct{ cause error }

func (e *badAmountsError) Error() string { return "amounts: " + e.cause.Error() }

// givenAmounts are the amounts of a campaign with the split "list". They are read once: they never change, and every
// node looks at its live campaigns every few seconds.
func (r *campaignRows) givenAmounts(ctx context.Context, q sqldb.Querier, campaign string) ([]rain.Money, error) {
	r.mu.Lock()
	amounts, ok := r.amounts[campaign]
	r.mu.Unlock()
	if ok {
		return amounts, nil
	}
	var text []byte
	found, err := q.First(ctx, []any{&text}, "SELECT amounts FROM campaign_amounts WHERE campaign_id = ?", campaign)
	if err != nil {
		return nil, fmt.Errorf("amounts of campaign %s: %w", campaign, err)
	}
	if !found {
		return nil, nil
	}
	if err := json.Unmarshal(text, &amounts); err != nil {
		return nil, &badAmountsError{err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.amounts[campaign] = amounts
	return amounts, nil
}

// forgetAmountsOf drops the amounts of a campaign, so that they are read again.
func (r *campaignRows) forgetAmountsOf(campaign string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.amounts, campaign)
}

// forgetAmounts drops the amounts of campaigns that are not live any more.
func (r *campaignRows) forgetAmounts(live []*rain.Campaign) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.amounts) == 0 {
		return
	}
	still := make(map[string][]rain.Money, len(r.amounts))
	for _, c := range live {
		if a, ok := r.amounts[c.ID]; ok {
			still[c.ID] = a
		}
	}
	r.amounts = still
}
