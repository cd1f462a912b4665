package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"redrain/client"
)

type watchCmd struct{ oneCampaign }

// Run shows the figures until the campaign is over or somebody presses Ctrl-C. It waits for a server that is away, and
// ends with an error where the server refuses the request.
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
	var answer *client.Error
	return errors.As(err, &answer) && answer.Status < http.StatusInternalServerError &&
		answer.Status != http.StatusTooManyRequests
}
