package cli

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"

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

// ask makes a request and shows its answer. If the command waits for a second person, it shows the order instead.
func ask[T any](r *remote, app *App, show func(*table, T),
	request func(ctx context.Context, api *client.Client) (T, error)) error {
	return r.talk(func(ctx context.Context, api *client.Client) error {
		answer, err := request(ctx, api)
		if pending, ok := errors.AsType[*client.PendingError](err); ok {
			return r.show(app, pending.Approval, func(t *table) { t.approval(pending.Approval) })
		}
		if err != nil {
			return err
		}
		return r.show(app, answer, func(t *table) { show(t, answer) })
	})
}

// get shows what is at a path of the API.
func get[T any](r *remote, app *App, show func(*table, T), path ...string) error {
	return ask(r, app, show, func(ctx context.Context, api *client.Client) (T, error) {
		return client.Get[T](ctx, api, path...)
	})
}

// post sends a body, nil for none, to a path of the API and shows the answer.
func post[T any](r *remote, app *App, show func(*table, T), body any, path ...string) error {
	return ask(r, app, show, func(ctx context.Context, api *client.Client) (T, error) {
		return client.Post[T](ctx, api, body, path...)
	})
}

// list shows all of a list of the API. query may be nil.
func list[T any](r *remote, app *App, show func(*table, []T), query url.Values, path ...string) error {
	return ask(r, app, show, func(ctx context.Context, api *client.Client) ([]T, error) {
		return collect(client.All(ctx, client.Pages[T](api, query, path...)))
	})
}

// collect reads a list to its end, or to its first error.
func collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

func printJSON(app *App, value any) error {
	e := json.NewEncoder(app.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
