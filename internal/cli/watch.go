package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"redrain/internal/operator"
	"redrain/internal/wire"
)

type watchCmd struct{ oneCampaign }

// glance is a campaign's figures at one moment.
type glance struct {
	At       int64      `json:"at"` // Unix milliseconds of this machine
	Campaign string     `json:"campaign"`
	State    string     `json:"state"`
	Rain     *wire.Rain `json:"rain"` // the newest
	operator.Stats
	name string
}

// over tells whether nothing will change any more: the campaign is closed and each win is paid.
func (g glance) over() bool { return g.State == "closed" && g.Paid >= g.Won }

// Run shows the figures until the campaign is over or somebody presses Ctrl-C. It waits for a server that is away, and
// ends with an error where the server refuses the request.
func (c *watchCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, client *operator.Client) error {
		show := c.screen(app)
		tick := time.NewTicker(app.WatchEvery)
		defer tick.Stop()
		seen, failing := false, false
		for {
			g, err := look(ctx, client, c.Campaign)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && (!seen || refused(err)):
				return err
			case err != nil:
				if !failing {
					app.complain(err.Error() + "; still trying")
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

// refused tells whether the server has refused a request, so that repeating it is useless.
func refused(err error) bool {
	var answer *operator.Error
	return errors.As(err, &answer) && answer.Status < http.StatusInternalServerError &&
		answer.Status != http.StatusTooManyRequests
}

func look(ctx context.Context, client *operator.Client, id string) (glance, error) {
	campaign, err := client.Campaign(ctx, id)
	if err != nil {
		return glance{}, err
	}
	stats, err := client.Stats(ctx, id)
	if err != nil {
		return glance{}, err
	}
	g := glance{At: time.Now().UnixMilli(), Campaign: id, State: campaign.State, Stats: stats, name: campaign.Name}
	if n := len(campaign.Rains); n > 0 {
		g.Rain = &campaign.Rains[n-1]
	}
	return g, nil
}
