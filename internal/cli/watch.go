package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"redrain/client"
	"redrain/internal/wire"
)

type watchCmd struct{ oneCampaign }

// Run shows the figures until the campaign is over, or until Ctrl-C. It waits for a server that is away, and ends with
// an error if the server refuses the request.
func (c *watchCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		show := newScreen(app, c.JSON)
		tick := time.NewTicker(app.WatchEvery)
		defer tick.Stop()
		seen, failing := false, false
		for {
			g, err := look(ctx, api, c.Campaign)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && (!seen || refused(err)):
				return err
			case err != nil:
				if !failing {
					_, _ = fmt.Fprintln(app.Stderr, "redrain: "+printable(err.Error()+"; still trying"))
				}
				failing = true
			default:
				seen, failing = true, false
				if err := show(g); err != nil || g.over() {
					return err
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
}

// refused reports whether the server has refused a request, so that repeating it is useless.
func refused(err error) bool {
	var answer *client.Error
	return errors.As(err, &answer) && answer.Status < http.StatusInternalServerError &&
		answer.Status != http.StatusTooManyRequests
}

// glance has a campaign's figures at one moment.
type glance struct {
	At       int64      `json:"at"` // Unix milliseconds of this machine
	Campaign string     `json:"campaign"`
	State    string     `json:"state"`
	Rain     *wire.Rain `json:"rain"` // the newest
	client.Stats
	name string
}

// over reports whether the figures are final: the campaign is closed and each win is paid.
func (g glance) over() bool { return g.State == "closed" && g.Paid >= g.Won }

// look reads the figures of a campaign.
func look(ctx context.Context, api *client.Client, id string) (glance, error) {
	campaign, err := api.Campaign(ctx, id)
	if err != nil {
		return glance{}, err
	}
	stats, err := api.Stats(ctx, id)
	if err != nil {
		return glance{}, err
	}
	g := glance{At: time.Now().UnixMilli(), Campaign: id, State: campaign.State, Stats: stats, name: campaign.Name}
	if n := len(campaign.Rains); n > 0 {
		g.Rain = &campaign.Rains[n-1]
	}
	return g, nil
}

// newScreen returns the function that shows a glance: as a redrawn block, a line in a pipe, or a JSON object.
func newScreen(app *App, asJSON bool) func(glance) error {
	switch {
	case asJSON:
		e := json.NewEncoder(app.Stdout)
		return func(g glance) error { return e.Encode(g) }
	case app.terminal(app.Stdout):
		return redrawn(app)
	default:
		return listed(app)
	}
}

// listed writes a header, then a line for each glance.
func listed(app *App) func(glance) error {
	const form = "%-8s  %-8s  %8v  %10v  %9v  %8v  %8v  %8v  %15v  %15v\n"
	header := true
	return func(g glance) error {
		var b bytes.Buffer
		if header {
			fmt.Fprintf(&b, form, "TIME", "STATE", "ONLINE", "TAPS", "GRABS/S", "WON", "STOCK", "PAID", "AMOUNT PAID",
				"AMOUNT LEFT")
			header = false
		}
		fmt.Fprintf(&b, form, clockTime(app, g.At), printable(g.State), g.Online, g.Taps,
			fmt.Sprintf("%.1f", g.GrabsPerSecond),
			g.Won, g.Stock, g.Paid, g.AmountPaid, g.AmountLeft)
		_, err := app.Stdout.Write(b.Bytes())
		return err
	}
}

// The escape sequences of a terminal (ECMA-48, and DEC's for wrapping).
const (
	cursorUp  = "\x1b[%dA"
	clearLine = "\x1b[K"
	wrapOff   = "\x1b[?7l" // cuts a long name, because a wrapped line would upset the redrawing
	wrapOn    = "\x1b[?7h"
)

// redrawn writes a block of lines over the one before, in one write, so that it does not flicker.
func redrawn(app *App) func(glance) error {
	drawn := 0
	return func(g glance) error {
		lines := block(app, g)
		var b bytes.Buffer
		if drawn > 0 {
			fmt.Fprintf(&b, cursorUp, drawn)
		}
		b.WriteString(wrapOff)
		for _, l := range lines {
			b.WriteString(printable(l) + clearLine + "\n")
		}
		b.WriteString(wrapOn)
		drawn = len(lines)
		_, err := app.Stdout.Write(b.Bytes())
		return err
	}
}

// block always has the same number of lines.
func block(app *App, g glance) []string {
	weather := "no rain yet"
	if r := g.Rain; r != nil {
		weather = fmt.Sprintf("rain %s: %s, %s to %s", r.ID, r.Phase, clockTime(app, r.StartsAt),
			clockTime(app, r.EndsAt))
	}
	if g.UnknownShards > 0 {
		weather += fmt.Sprintf("; %d shards unknown", g.UnknownShards)
	}
	if g.Waiting > 0 || g.Seated > 0 {
		weather += fmt.Sprintf("; %d wait, %d seated", g.Waiting, g.Seated)
	}
	return []string{
		fmt.Sprintf("%s  %s  %s", clockTime(app, g.At), g.Campaign, g.name),
		fmt.Sprintf("%s, %s", g.State, weather),
		fmt.Sprintf("online  %12d    taps  %14d    grabs a second  %10.1f", g.Online, g.Taps, g.GrabsPerSecond),
		fmt.Sprintf("won     %12d    paid  %14d    stock           %10d", g.Won, g.Paid, g.Stock),
		fmt.Sprintf("amount  %12s    paid  %14s    left            %10s", g.AmountWon, g.AmountPaid, g.AmountLeft),
	}
}

func clockTime(app *App, ms int64) string {
	return time.UnixMilli(ms).In(app.Location).Format(time.TimeOnly)
}
