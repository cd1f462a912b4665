package cli

import (
	"context"
	"strconv"

	"redrain/internal/operator"
)

type sealRotateCmd struct{ remote }

// Run makes a new key for the seals.
func (c *sealRotateCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, client *operator.Client) error {
		key, err := client.RotateSeal(ctx)
		if err != nil {
			return err
		}
		return c.show(app, key, func(t *table) { t.row("key", strconv.FormatInt(key.Key, 10)) })
	})
}
