package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"redrain/client"
	"redrain/internal/openapi"
	"redrain/rain"
)

type campaignCreateCmd struct {
	Name    string `help:"Name that players see. Required."`
	Sponsor string `help:"Id of the sponsor who pays. Required."`
	splitFlags
	WinsPerUser    int           `default:"${wins_per_user}" help:"Packets that one player may win, over all rains."`
	TapsPerUser    int           `default:"0" help:"Taps that one player may make, over all rains; 0 for no limit."`
	Shards         int           `default:"${shards}" help:"Parts of the stock, each in its own slot of a Redis Cluster."`
	Capacity       int           `default:"0" help:"Players in the room at once, over all nodes; the others wait. 0 for no limit."`
	AdmitPerSecond int           `default:"0" help:"Players admitted in a second; 0 for all at once."`
	Players        string        `placeholder:"LIST" help:"Only the players on this list may take part, see redrain list."`
	GuestsShare    rain.Share    `placeholder:"SHARE" help:"Part of the packets that only guests may win, such as 0.1; the others are for players with a token. By default all win from one stock."`
	ExpiresIn      time.Duration `default:"${expires_in}" help:"Time after which the rest returns to the sponsor."`
	IdempotencyKey string        `placeholder:"KEY" help:"Any text. If you repeat the command with the same key, you get the first result."`
	remote
}

func (c *campaignCreateCmd) check() []string {
	faults := faultList(c.remote.check())
	faults.when(c.Name == "", "--name: required")
	faults.when(c.Sponsor == "", "--sponsor: required")
	return append(faults, c.splitFlags.check()...)
}

// Run creates the campaign. Only missing values are checked here; the server checks the rest.
func (c *campaignCreateCmd) Run(app *App) error {
	spec := rain.Spec{
		Name: c.Name, Sponsor: c.Sponsor, Budget: c.Budget, Packets: c.Packets, Split: c.Split, Min: c.Min, Max: c.Max,
		Amounts: c.Amounts, WinsPerUser: c.WinsPerUser, TapsPerUser: c.TapsPerUser, Shards: c.Shards,
		Capacity: c.Capacity, AdmitPerSecond: c.AdmitPerSecond, GuestsShare: c.GuestsShare,
		ExpiresInMS: c.ExpiresIn.Milliseconds(),
	}
	if c.Players != "" {
		spec.Players = &rain.Players{List: c.Players}
	}
	return ask(&c.remote, app, (*table).campaign, func(ctx context.Context, api *client.Client) (client.Campaign,
		error) {
		return api.CreateCampaign(ctx, spec, c.IdempotencyKey)
	})
}

type campaignListCmd struct{ remote }

// Run lists every campaign.
func (c *campaignListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).campaigns, nil, "campaigns")
}

// oneCampaign are the flags and the argument of the commands about one campaign.
type oneCampaign struct {
	Campaign string `arg:"" help:"The campaign's id."`
	remote
}

type campaignShowCmd struct{ oneCampaign }

// Run shows the campaign.
func (c *campaignShowCmd) Run(app *App) error {
	return get(&c.remote, app, (*table).campaign, "campaigns", c.Campaign)
}

// campaignOrderCmd implements pause, resume and close.
type campaignOrderCmd struct{ oneCampaign }

// Run pauses, resumes or closes the campaign.
func (c *campaignOrderCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).campaign, nil, "campaigns", c.Campaign, app.verb)
}

func (t *table) campaigns(all []client.Campaign) {
	t.row("ID", "STATE", "BUDGET", "PACKETS", "RAINS", "CREATED", "SPONSOR", "NAME")
	for _, one := range all {
		t.row(one.ID, one.State, one.Budget, one.Packets, len(one.Rains), t.at(one.CreatedAt), one.Sponsor, one.Name)
	}
}

// campaign shows one campaign and its rains.
func (t *table) campaign(c client.Campaign) {
	size := fmt.Sprintf("%s, each %s", c.Split, c.Min)
	if c.Max != nil {
		size += " to " + c.Max.String()
	} else {
		size += " or more"
	}
	taps := "no limit"
	if c.TapsPerUser > 0 {
		taps = strconv.Itoa(c.TapsPerUser)
	}
	t.row("campaign", c.ID)
	t.row("name", c.Name)
	t.row("state", c.State)
	t.row("sponsor", c.Sponsor)
	t.row("budget", c.Budget)
	t.row("packets", fmt.Sprintf("%d, %s", c.Packets, size))
	t.row("wins per user", c.WinsPerUser)
	t.row("taps per user", taps)
	t.row("shards", c.Shards)
	if c.Capacity > 0 {
		t.row("capacity", c.Capacity)
	}
	if c.AdmitPerSecond > 0 {
		t.row("admit per second", c.AdmitPerSecond)
	}
	if list := c.Invited(); list != "" {
		t.row("players", "on the list "+list)
	}
	if c.GuestsShare != 0 {
		t.row("guests share", fmt.Sprintf("%s of the packets", c.GuestsShare))
	}
	t.row("created", t.at(c.CreatedAt))
	t.row("expires", t.at(c.ExpiresAt))
	if c.DroppedAt > 0 {
		t.row("archived", t.at(c.DroppedAt)+"; its payouts are in its export, whose hash is in the audit")
	}
	for _, r := range c.Rains {
		t.row("rain "+r.ID, fmt.Sprintf("%s, %s to %s", r.Phase, t.at(r.StartsAt), t.at(r.EndsAt)))
	}
}

type rebuildCmd struct{ oneCampaign }

// Run restores the campaign's state in Redis. It fails if no shard is lost.
func (c *rebuildCmd) Run(app *App) error {
	return ask(&c.remote, app, (*table).rebuilt, func(ctx context.Context, api *client.Client) (openapi.Rebuilt,
		error) {
		return api.Rebuild(ctx, c.Campaign)
	})
}

func (t *table) rebuilt(r openapi.Rebuilt) {
	shards := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Shards), " ", ", "), "[]")
	t.row("campaign", r.Campaign)
	t.row("restored", "shard "+shards)
	t.row("stock", fmt.Sprintf("%d packets", r.Packets))
	t.row("wins", strconv.Itoa(r.Wins))
}

type sealRotateCmd struct{ remote }

// Run creates a new key for the seals.
func (c *sealRotateCmd) Run(app *App) error {
	return post(&c.remote, app, func(t *table, key openapi.SealKey) { t.row("key", key.Key) }, nil, "seal", "rotate")
}
