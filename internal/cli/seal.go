package cli

import (
	"context"
	"strconv"

	"redrain/client"
)

type sealRotateCmd struct{ remote }

// Run makes a new key for the seals.
func (c *sealRotateCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		key, err := api.RotateSeal(ctx)
		if err != nil {
			return err
		}
		return c.show(app, key, func(t *table) { t.row("key", strconv.FormatInt(key.Key, 10)) })
	})
}
