package cli

import (
	"time"

	"redrain/client"
	"redrain/internal/openapi"
)

type userShowCmd struct {
	User string `arg:"" help:"The player's id."`
	remote
}

// Run shows a player.
func (c *userShowCmd) Run(app *App) error {
	return get(&c.remote, app, (*table).player, "users", c.User)
}

// userOrderCmd is disconnect, ban and unban.
type userOrderCmd struct {
	User   string `arg:"" help:"The player's id."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

// Run does something about a player.
func (c *userOrderCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).player, openapi.BanUserJSONBody{Reason: c.Reason}, "users", c.User, app.verb)
}

// player shows a player and what was done about them.
func (t *table) player(p client.Player) {
	t.row("user", p.User)
	t.some("name", p.Name)
	t.row("balance", p.Balance)
	t.row("banned", p.Banned)
	for _, s := range p.Sanctions {
		t.row(s.Act, time.UnixMilli(s.At).UTC().Format(time.RFC3339), s.By, s.Reason)
	}
}
