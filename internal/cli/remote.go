package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"redrain/client"
)

// remote holds the flags of the commands that call a server.
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

// ask sends a request and shows its answer. If the command waits for a second person, it shows the order instead.
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

// get shows the object at a path of the API.
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

// list shows a complete list of the API. query may be nil.
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

// table writes columns. Names chosen by people belong in the last column, because double-width characters, as in
// Chinese, would shift the columns after them.
type table struct {
	w    *tabwriter.Writer
	zone *time.Location
}

func newTable(app *App) *table {
	return &table{w: tabwriter.NewWriter(app.Stdout, 0, 8, 2, ' ', 0), zone: app.Location}
}

// row writes one line. It makes every cell printable.
func (t *table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t") //nolint:errcheck // flush tells
		}
		fmt.Fprint(t.w, printable(fmt.Sprint(cell))) //nolint:errcheck // flush tells
	}
	fmt.Fprintln(t.w) //nolint:errcheck // flush tells
}

// some writes a row unless the value is empty.
func (t *table) some(name, value string) {
	if value != "" {
		t.row(name, value)
	}
}

func (t *table) flush() error { return t.w.Flush() }

// count formats a number with its noun: 1 finding, 2 findings.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// at formats a moment in the operator's time zone.
func (t *table) at(ms int64) string {
	return time.UnixMilli(ms).In(t.zone).Format("2006-01-02 15:04:05")
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// printable replaces characters that would control the terminal: campaigns' names and players' ids are untrusted text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
