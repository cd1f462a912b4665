package cli

import (
	"context"
	"fmt"
	"strings"

	"redrain/client"
	"redrain/rain"
)

// splitFlags say how a budget is cut.
type splitFlags struct {
	Budget  rain.Money     `placeholder:"FEN" help:"What is handed out, in minor units (1/100 yuan). Required."`
	Packets int            `placeholder:"N" help:"Into how many packets. Required."`
	Split   rain.SplitKind `default:"${split}" help:"How the budget is cut: one of ${splits}."`
	Min     rain.Money     `default:"${min}" help:"Smallest packet, in minor units."`
	Max     *rain.Money    `placeholder:"FEN" help:"Largest packet, in minor units."`
	Amounts []rain.Money   `placeholder:"FEN" help:"The packets of the split list, in minor units."`
}

func (f *splitFlags) check() (faults []string) {
	if f.Budget == 0 {
		faults = append(faults, "--budget: required")
	}
	if f.Packets == 0 {
		faults = append(faults, "--packets: required")
	}
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
	return ask(&c.remote, app, (*table).summary, func(ctx context.Context, api *client.Client) (rain.SplitSummary, error) {
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

// bar has at least one mark where there is any packet.
func bar(packets, fullest int) string {
	length := packets * barLength / fullest
	if packets > 0 {
		length = max(length, 1)
	}
	return strings.Repeat("#", length)
}

// yuan formats a statistic in yuan with all decimals that the server gives; no such amount is ever paid.
func yuan(minor float64) string { return fmt.Sprintf("%.4f", minor/100) }
