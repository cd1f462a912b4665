package cli

import (
	"context"
	"time"

	"redrain/client"
)

type userShowCmd struct {
	User string `arg:"" help:"The player's id."`
	remote
}

// Run shows a player.
func (c *userShowCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		p, err := api.Player(ctx, c.User)
		if err != nil {
			return err
		}
		return c.show(app, p, func(t *table) { t.player(p) })
	})
}

// userOrder is what the commands about players have in common.
type userOrder struct {
	User   string `arg:"" help:"The player's id."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *userOrder) give(app *App, act string) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		p, err := api.Sanction(ctx, c.User, act, c.Reason)
		if err != nil {
			return err
		}
		return c.show(app, p, func(t *table) { t.player(p) })
	})
}

type userDisconnectCmd struct{ userOrder }

// Run ends a player's connections.
func (c *userDisconnectCmd) Run(app *App) error { return c.give(app, "disconnect") }

type userBanCmd struct{ userOrder }

// Run bans a player.
func (c *userBanCmd) Run(app *App) error { return c.give(app, "ban") }

type userUnbanCmd struct{ userOrder }

// Run lifts a ban.
func (c *userUnbanCmd) Run(app *App) error { return c.give(app, "unban") }

// player shows a player and what was done about them.
func (t *table) player(p client.Player) {
	t.row("user", p.User)
	if p.Name != "" {
		t.row("name", p.Name)
	}
	t.row("balance", p.Balance)
	t.row("banned", p.Banned)
	for _, s := range p.Sanctions {
		t.row(s.Act, time.UnixMilli(s.At).UTC().Format(time.RFC3339), s.By, s.Reason)
	}
}
