package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"redrain/client"
	"redrain/internal/openapi"
)

// decidedAtOnce is how many claims one request decides about.
const decidedAtOnce = 1000

type riskListCmd struct{ remote }

// Run lists every win that is kept apart, with what speaks against its player.
func (c *riskListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).heldWins, url.Values{"state": {"held"}}, "risk", "held")
}

// riskOrderCmd is release, which gives held wins to their players, and confirm, which gives them to their sponsors.
type riskOrderCmd struct {
	Claims []string `arg:"" optional:"" help:"The claims, as risk list shows them."`
	User   string   `placeholder:"USER" help:"All that is kept apart of one player, instead of claims; released, the player may take part again."`
	Reason string   `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *riskOrderCmd) check() []string {
	faults := c.remote.check()
	if (len(c.Claims) > 0) == (c.User != "") {
		faults = append(faults, "give claims, or --user")
	}
	return faults
}

// Run decides about held wins.
func (c *riskOrderCmd) Run(app *App) error {
	return ask(&c.remote, app, (*table).heldWins, func(ctx context.Context, api *client.Client) ([]client.HeldWin, error) {
		claims, decided := c.Claims, []client.HeldWin{}
		if c.User != "" {
			wins, err := collect(client.All(ctx, api.HeldWins))
			if err != nil {
				return nil, err
			}
			for _, w := range wins {
				if w.User == c.User {
					claims = append(claims, w.Claim)
				}
			}
			if app.verb == "release" { // also where nothing is kept apart: they may be denied
				_, err := client.Post[client.List[client.HeldWin]](ctx, api,
					openapi.HeldDecision{Users: []string{c.User}, Reason: c.Reason}, "risk", "release")
				if err != nil {
					return nil, err
				}
			}
		}
		for some := range slices.Chunk(claims, decidedAtOnce) {
			done, err := api.DecideHeld(ctx, app.verb, some, c.Reason)
			if err != nil {
				return nil, err
			}
			decided = append(decided, done.Items...)
		}
		return decided, nil
	})
}

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
