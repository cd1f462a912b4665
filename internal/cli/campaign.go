package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/rain"
)

type campaignCreateCmd struct {
	Name    string `need:"" help:"Name that players see. Required."`
	Sponsor string `need:"" help:"Id of the sponsor who pays. Required."`
	splitFlags
	WinsPerUser    int           `default:"${wins_per_user}" help:"Packets that one player may win, over all rains."`
	TapsPerUser    int           `default:"0" help:"Taps that one player may make, over all rains; 0 for no limit."`
	Shards         int           `default:"${shards}" help:"Parts of the stock, each in its own slot of a Redis Cluster."`
	Capacity       int           `default:"0" help:"Players in the room at once, over all nodes; the others wait. 0 for no limit."`
	AdmitPerSecond int           `default:"0" help:"Players admitted in a second; 0 for all at once."`
	Players        invited       `placeholder:"LIST" help:"Only the players on this list may take part, see redrain list."`
	GuestsShare    rain.Share    `placeholder:"SHARE" help:"Part of the packets that only guests may win, such as 0.1; the others are for players with a token. By default all win from one stock."`
	ExpiresIn      time.Duration `default:"${expires_in}" help:"Time after which the rest returns to the sponsor."`
	IdempotencyKey string        `own:"" placeholder:"KEY" help:"Any text. If you repeat the command with the same key, you get the first result."`
	remote
}

// invited is the name of a list; in the API it is an object.
type invited string

// MarshalJSON returns the object.
func (i invited) MarshalJSON() ([]byte, error) { return json.Marshal(rain.Players{List: string(i)}) }

// Run creates the campaign. Only missing values are checked here; the server checks the rest.
func (c *campaignCreateCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (campaign, error) {
		made, err := api.CreateCampaign(ctx, bodyAs[rain.Spec](app), c.IdempotencyKey)
		return campaign(made), err
	})
}

// splitFlags say how a budget is cut.
type splitFlags struct {
	Budget  rain.Money     `need:"" placeholder:"AMOUNT" help:"What is handed out: ${amount}. Required."`
	Packets int            `need:"" placeholder:"N" help:"Into how many packets. Required."`
	Split   rain.SplitKind `default:"${split}" help:"How the budget is cut: one of ${splits}."`
	Min     rain.Money     `default:"0.01" help:"Smallest packet: ${amount}."`
	Max     *rain.Money    `placeholder:"AMOUNT" help:"Largest packet: ${amount}."`
	Amounts []rain.Money   `placeholder:"AMOUNT" help:"The packets of the split list, each ${amount}."`
}

type campaignPreviewCmd struct {
	splitFlags
	remote
}

// Run shows the result of one cut.
func (c *campaignPreviewCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (summary, error) {
		cut, err := api.PreviewSplit(ctx, bodyAs[rain.SplitSpec](app))
		return summary(cut), err
	})
}

// summary is the result of a cut.
type summary rain.SplitSummary

func (s summary) show(t *table) {
	const longestBar = 50 // characters
	t.row("packets", s.Packets)
	t.row("mean", rain.Money(math.Round(s.Mean)))
	t.row("deviation", rain.Money(math.Round(s.Deviation)))
	t.row("smallest", s.Smallest)
	t.row("median", s.Median)
	t.row("largest", s.Largest)
	t.row()
	t.row("FROM", "TO", "PACKETS")
	fullest := 1
	for _, bin := range s.Histogram {
		fullest = max(fullest, bin.Packets)
	}
	for _, bin := range s.Histogram {
		length := max(bin.Packets*longestBar/fullest, min(bin.Packets, 1)) // a mark if there is any packet
		t.row(bin.From, bin.To, bin.Packets, strings.Repeat("#", length))
	}
}

// campaignArg is the argument of the commands about one campaign.
type campaignArg struct {
	Campaign string `arg:"" help:"The campaign's id."`
}

type oneCampaign struct {
	campaignArg
	remote
}

// campaign is one campaign with its rains.
type campaign client.Campaign

func (c campaign) columns(t *table) (string, []any) {
	return "ID,STATE,BUDGET,PACKETS,RAINS,CREATED,SPONSOR,NAME",
		[]any{c.ID, c.State, c.Budget, c.Packets, len(c.Rains), t.at(c.CreatedAt), c.Sponsor, c.Name}
}

func (c campaign) show(t *table) {
	size := fmt.Sprintf("%s, each %s or more", c.Split, c.Min)
	if c.Max != nil {
		size = fmt.Sprintf("%s, each %s to %s", c.Split, c.Min, *c.Max)
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
	some(t, "capacity", c.Capacity)
	some(t, "admit per second", c.AdmitPerSecond)
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

type rainStartCmd struct {
	StartsIn       *time.Duration `placeholder:"${starts_in}" help:"Countdown."`
	StartsAt       time.Time      `placeholder:"TIME" help:"Start at a time instead, such as 2026-02-17T20:00:00+08:00, or Unix milliseconds."`
	Duration       time.Duration  `default:"${duration}" help:"How long drops appear."`
	DropsPerSecond int            `default:"${drops_per_second}" help:"Drops that appear in a second."`
	Fall           time.Duration  `default:"${fall}" help:"Longest time that a drop is in the air."`
	DecoyPercent   int            `default:"${decoy_percent}" help:"Share of drops that pay nothing."`
	Pacing         rain.Pacing    `default:"${pacing}" help:"How the stock is released: none, or even over the duration."`
	Odds           rain.Odds      `default:"${odds}" help:"Chance of a player's one draw in each beat: a number above 0, or auto, which sets it so that the stock ends with the rain. 1: no draws, every packet drop can win."`
	BeatMS         int64          `name:"beat-ms" default:"${beat_ms}" help:"Length of a beat in milliseconds, with --odds below 1."`
	IdempotencyKey string         `own:"" placeholder:"KEY" help:"Any text. If you repeat the command with the same key, you get the first result."`
	oneCampaign
}

func (c *rainStartCmd) check() (faults faultList) {
	faults.when(c.StartsIn != nil && !c.StartsAt.IsZero(), "--starts-in and --starts-at: give one of them")
	return faults
}

// Run schedules the rain.
func (c *rainStartCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (aRain, error) {
		started, err := api.StartRain(ctx, c.Campaign, bodyAs[rain.RainSpec](app), c.IdempotencyKey)
		return aRain(started), err
	})
}

type rainStopCmd struct {
	oneCampaign
	Rain string `arg:"" optional:"" help:"The rain's id. Left out: the newest rain."`
}

// Run stops the rain.
func (c *rainStopCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (aRain, error) {
		id := c.Rain
		if id == "" {
			campaign, err := api.Campaign(ctx, c.Campaign)
			if err != nil {
				return aRain{}, err
			}
			if len(campaign.Rains) == 0 {
				return aRain{}, errors.New("the campaign has no rain")
			}
			id = campaign.Rains[len(campaign.Rains)-1].ID
		}
		return client.Post[aRain](ctx, api, nil, "campaigns", c.Campaign, "rains", id, "stop")
	})
}

// aRain is one rain.
type aRain wire.Rain

func (r aRain) show(t *table) {
	t.row("rain", r.ID)
	t.row("campaign", r.Campaign)
	t.row("phase", r.Phase)
	t.row("starts", t.at(r.StartsAt))
	t.row("ends", t.at(r.EndsAt))
	t.row("drops", fmt.Sprintf("%d a second for %s, falling up to %s, %d %% decoys",
		r.DropsPerSecond, millis(r.DurationMS), millis(r.FallMS), r.DecoyPercent))
	t.row("pacing", r.Pacing)
	if r.Odds != rain.OddsCertain {
		t.row("odds", fmt.Sprintf("%s, in beats of %s", r.Odds, millis(r.BeatMS)))
	}
	t.row("commitment", r.Commitment)
}

type rebuildCmd struct{ oneCampaign }

// Run restores the campaign's state in Redis. It fails if no shard is lost.
func (c *rebuildCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (rebuilt, error) {
		done, err := api.Rebuild(ctx, c.Campaign)
		return rebuilt(done), err
	})
}

type rebuilt openapi.Rebuilt

func (r rebuilt) show(t *table) {
	shards := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Shards), " ", ", "), "[]")
	t.row("campaign", r.Campaign)
	t.row("restored", "shard "+shards)
	t.row("stock", fmt.Sprintf("%d packets", r.Packets))
	t.row("wins", strconv.Itoa(r.Wins))
}

type sealKey openapi.SealKey

func (k sealKey) show(t *table) { t.row("key", k.Key) }
