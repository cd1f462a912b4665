package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"redrain/client"
	"redrain/internal/openapi"
)

type rebuildCmd struct{ oneCampaign }

// Run restores the campaign's state in Redis. It fails where nothing of it is lost.
func (c *rebuildCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		done, err := api.Rebuild(ctx, c.Campaign)
		if err != nil {
			return err
		}
		return c.show(app, done, func(t *table) { t.rebuilt(done) })
	})
}

func (t *table) rebuilt(r openapi.Rebuilt) {
	shards := make([]string, len(r.Shards))
	for i, shard := range r.Shards {
		shards[i] = strconv.Itoa(shard)
	}
	t.row("campaign", r.Campaign)
	t.row("restored", "shard "+strings.Join(shards, ", "))
	t.row("stock", fmt.Sprintf("%d packets", r.Packets))
	t.row("wins", strconv.Itoa(r.Wins))
}
