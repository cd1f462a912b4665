package cli

import (
	"context"
	"encoding/json"

	"redrain/client"
)

// remote are the flags of the commands that speak to a server.
type remote struct {
	Server string `group:"remote" default:"http://localhost:8080" help:"Its address."`
	Token  string `group:"remote" placeholder:"TOKEN" help:"Operator's or viewer's token."`
	JSON   bool   `name:"json" help:"Answer in JSON, as the server does."`
}

func (r *remote) check() []string {
	if _, err := client.New(client.Options{Server: r.Server}); err != nil {
		return []string{"--server: " + err.Error()}
	}
	return nil
}

// talk calls do with a client and a context that Ctrl-C ends.
func (r *remote) talk(do func(ctx context.Context, c *client.Client) error) error {
	c, err := client.New(client.Options{Server: r.Server, Token: r.Token})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := interruptible()
	defer cancel()
	return do(ctx, c)
}

// show prints a value as JSON, or by its table.
func (r *remote) show(app *App, value any, table func(*table)) error {
	if r.JSON {
		return printJSON(app, value)
	}
	t := newTable(app)
	table(t)
	return t.flush()
}

func printJSON(app *App, value any) error {
	e := json.NewEncoder(app.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
