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
	return ask(&c.remote, app, (*table).rebuilt, func(ctx context.Context, api *client.Client) (openapi.Rebuilt, error) {
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

// Run makes a new key for the seals.
func (c *sealRotateCmd) Run(app *App) error {
	return post(&c.remote, app, func(t *table, key openapi.SealKey) { t.row("key", key.Key) }, nil, "seal", "rotate")
}
