package cli

import (
	"context"
	"slices"
	"strings"

	"redrain/client"
)

// decidedAtOnce is how many claims one request decides about.
const decidedAtOnce = 1000

type riskListCmd struct{ remote }

// Run lists every win that is kept apart, with what speaks against its player.
func (c *riskListCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		wins, err := heldWins(ctx, api, "")
		if err != nil {
			return err
		}
		return c.show(app, wins, func(t *table) { t.heldWins(wins) })
	})
}

// heldWins are all wins that are kept apart, or those of one player.
func heldWins(ctx context.Context, api *client.Client, user string) ([]client.HeldWin, error) {
	wins := []client.HeldWin{}
	for one, err := range client.All(ctx, api.HeldWins) {
		if err != nil {
			return nil, err
		}
		if user == "" || one.User == user {
			wins = append(wins, one)
		}
	}
	return wins, nil
}

// riskOrder is what the commands about held wins have in common.
type riskOrder struct {
	Claims []string `arg:"" optional:"" help:"The claims, as risk list shows them."`
	User   string   `placeholder:"USER" help:"All that is kept apart of one player, instead of claims; released, the player may take part again."`
	Reason string   `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *riskOrder) check() []string {
	faults := c.remote.check()
	if (len(c.Claims) > 0) == (c.User != "") {
		faults = append(faults, "give claims, or --user")
	}
	return faults
}

func (c *riskOrder) decide(app *App, act string) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		claims, decided := c.Claims, []client.HeldWin{}
		if c.User != "" {
			wins, err := heldWins(ctx, api, c.User)
			if err != nil {
				return err
			}
			if act == "release" { // also where nothing is kept apart: they may be denied
				if err := api.ReleasePlayers(ctx, []string{c.User}, c.Reason); err != nil {
					return err
				}
			}
			for _, w := range wins {
				claims = append(claims, w.Claim)
			}
		}
		for some := range slices.Chunk(claims, decidedAtOnce) {
			done, err := api.DecideHeld(ctx, act, some, c.Reason)
			if err != nil {
				return err
			}
			decided = append(decided, done.Items...)
		}
		return c.show(app, decided, func(t *table) { t.heldWins(decided) })
	})
}

type riskReleaseCmd struct{ riskOrder }

// Run gives held wins to their players.
func (c *riskReleaseCmd) Run(app *App) error { return c.decide(app, "release") }

type riskConfirmCmd struct{ riskOrder }

// Run gives held wins back to their sponsors.
func (c *riskConfirmCmd) Run(app *App) error { return c.decide(app, "confirm") }

func (t *table) heldWins(wins []client.HeldWin) {
	t.row("CLAIM", "STATE", "AMOUNT", "SINCE", "SCORE", "USER", "REASONS")
	for _, w := range wins {
		sentences := make([]string, len(w.Reasons))
		for i, r := range w.Reasons {
			sentences[i] = r.Sentence
		}
		t.row(w.Claim, w.State, w.Amount, t.at(w.HeldAt), w.Score, w.User, strings.Join(sentences, "; "))
	}
}
