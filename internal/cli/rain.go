package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"redrain/client"
	"redrain/internal/wire"
	"redrain/rain"
)

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
	IdempotencyKey string         `placeholder:"KEY" help:"Any text. If you repeat the command with the same key, you get the first result."`
	oneCampaign
}

func (c *rainStartCmd) check() []string {
	faults := faultList(c.remote.check())
	faults.when(c.StartsIn != nil && !c.StartsAt.IsZero(), "--starts-in and --starts-at: give one of them")
	return faults
}

// Run schedules the rain.
func (c *rainStartCmd) Run(app *App) error {
	spec := rain.RainSpec{Settings: rain.Settings{
		DurationMS: c.Duration.Milliseconds(), DropsPerSecond: c.DropsPerSecond, FallMS: c.Fall.Milliseconds(),
		DecoyPercent: c.DecoyPercent, Pacing: c.Pacing, Odds: c.Odds, BeatMS: c.BeatMS,
	}}
	if c.StartsIn != nil {
		ms := c.StartsIn.Milliseconds()
		spec.StartsInMS = &ms
	}
	if !c.StartsAt.IsZero() {
		ms := c.StartsAt.UnixMilli()
		spec.StartsAt = &ms
	}
	return ask(&c.remote, app, (*table).rain, func(ctx context.Context, api *client.Client) (wire.Rain, error) {
		return api.StartRain(ctx, c.Campaign, spec, c.IdempotencyKey)
	})
}

type rainStopCmd struct {
	oneCampaign
	Rain string `arg:"" optional:"" help:"The rain's id. Left out: the newest rain."`
}

// Run stops the rain.
func (c *rainStopCmd) Run(app *App) error {
	return ask(&c.remote, app, (*table).rain, func(ctx context.Context, api *client.Client) (wire.Rain, error) {
		id := c.Rain
		if id == "" {
			campaign, err := api.Campaign(ctx, c.Campaign)
			if err != nil {
				return wire.Rain{}, err
			}
			if len(campaign.Rains) == 0 {
				return wire.Rain{}, errors.New("the campaign has no rain")
			}
			id = campaign.Rains[len(campaign.Rains)-1].ID
		}
		return api.StopRain(ctx, c.Campaign, id)
	})
}

// rain shows one rain.
func (t *table) rain(r wire.Rain) {
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

// splitFlags say how a budget is cut.
type splitFlags struct {
	Budget  rain.Money     `placeholder:"FEN" help:"What is handed out, in minor units (1/100 yuan). Required."`
	Packets int            `placeholder:"N" help:"Into how many packets. Required."`
	Split   rain.SplitKind `default:"${split}" help:"How the budget is cut: one of ${splits}."`
	Min     rain.Money     `default:"${min}" help:"Smallest packet, in minor units."`
	Max     *rain.Money    `placeholder:"FEN" help:"Largest packet, in minor units."`
	Amounts []rain.Money   `placeholder:"FEN" help:"The packets of the split list, in minor units."`
}

func (f *splitFlags) check() []string {
	var faults faultList
	faults.when(f.Budget == 0, "--budget: required")
	faults.when(f.Packets == 0, "--packets: required")
	return faults
}

type campaignPreviewCmd struct {
	splitFlags
	remote
}

func (c *campaignPreviewCmd) check() []string {
	return append(c.remote.check(), c.splitFlags.check()...)
}

// Run shows the result of one cut. Only missing values are checked here; the server checks the rest.
func (c *campaignPreviewCmd) Run(app *App) error {
	split := rain.SplitSpec{Budget: c.Budget, Packets: c.Packets, Split: c.Split, Min: c.Min, Max: c.Max,
		Amounts: c.Amounts}
	return ask(&c.remote, app, (*table).summary, func(ctx context.Context, api *client.Client) (rain.SplitSummary,
		error) {
		return api.PreviewSplit(ctx, split)
	})
}

// barLength is the length of a histogram's longest bar in characters.
const barLength = 50

func (t *table) summary(s rain.SplitSummary) {
	t.row("packets", s.Packets)
	t.row("mean", yuan(s.Mean))
	t.row("deviation", yuan(s.Deviation))
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
		t.row(bin.From, bin.To, bin.Packets, bar(bin.Packets, fullest))
	}
}

// bar has at least one mark if there is any packet.
func bar(packets, fullest int) string {
	length := packets * barLength / fullest
	if packets > 0 {
		length = max(length, 1)
	}
	return strings.Repeat("#", length)
}

// yuan formats a statistic in yuan with all decimals that the server gives; no such amount is ever paid.
func yuan(minor float64) string { return fmt.Sprintf("%.4f", minor/100) }
