package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"redrain/client"
	"redrain/internal/wire"
	"redrain/rain"
)

// remote holds the flags of the commands that call a server.
type remote struct {
	Server string `group:"remote" own:"" default:"http://localhost:8080" help:"Its address."`
	Token  string `group:"remote" secret:"" own:"" placeholder:"TOKEN" help:"Operator's or viewer's token."`
	JSON   bool   `name:"json" own:"" help:"Answer in JSON, as the server does."`
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

// checkServer returns the fault of the server's address.
func (r *remote) checkServer() error {
	_, err := client.New(client.Options{Server: r.Server})
	return err
}

// shown is an answer that a table can show.
type shown interface{ show(t *table) }

// show prints an answer as JSON, or by its table.
func (a *App) show(asJSON bool, answer shown) error {
	if asJSON {
		return printJSON(a, answer)
	}
	t := newTable(a)
	answer.show(t)
	return t.w.Flush()
}

// ask sends a request and shows its answer. If the command waits for a second person, it shows the order instead.
func ask[T shown](r *remote, app *App, request func(ctx context.Context, api *client.Client) (T, error)) error {
	return r.talk(func(ctx context.Context, api *client.Client) error {
		answer, err := request(ctx, api)
		if pending, ok := errors.AsType[*client.PendingError](err); ok {
			return app.show(r.JSON, approval(pending.Approval))
		}
		if err != nil {
			return err
		}
		return app.show(r.JSON, answer)
	})
}

// call is a command of one request, and T its answer. The tag call:"POST sponsors/{sponsor}/deposits" names the method
// and the path. The arguments A fill in the path; their flags are the fields of the body.
type call[A any, T shown] struct {
	Args A `embed:""`
	remote
}

// Run sends the request.
func (c *call[A, T]) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (T, error) {
		method, path := app.endpoint()
		if method == http.MethodGet {
			return client.Get[T](ctx, api, path...)
		}
		return client.Post[T](ctx, api, app.body(), path...)
	})
}

// none are the arguments of a command without any.
type none struct{}

// list is a command like call that shows a complete list. The tag query has its query; its flags add to that.
type list[A any, T row] struct {
	Args A `embed:""`
	remote
}

// Run reads the list.
func (c *list[A, T]) Run(app *App) error {
	query, err := url.ParseQuery(app.selected.Tag.Get("query"))
	if err != nil {
		return err
	}
	if fields, ok := app.body().(map[string]any); ok {
		for name, value := range fields {
			query.Set(name, fmt.Sprint(value))
		}
	}
	_, path := app.endpoint()
	return showList[T](&c.remote, app, query, path...)
}

// showList shows a complete list of the API. query may be nil.
func showList[T row](r *remote, app *App, query url.Values, path ...string) error {
	return ask(r, app, func(ctx context.Context, api *client.Client) (rows[T], error) {
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

// endpoint returns the method and the path in the selected command's tag call.
func (a *App) endpoint() (method string, path []string) {
	method, rest, _ := strings.Cut(a.selected.Tag.Get("call"), " ")
	for segment := range strings.SplitSeq(rest, "/") {
		for _, p := range a.selected.Positional {
			if segment == "{"+p.Name+"}" {
				segment = p.Target.String()
			}
		}
		path = append(path, segment)
	}
	return method, path
}

// body returns the selected command's settings that are not in its path, as fields of a request: --beat-ms is beat_ms.
// Durations and times are in milliseconds. It returns nil for a command without such settings.
func (a *App) body() any {
	settings := slices.Clone(a.selected.Positional)
	for _, f := range a.selected.Flags {
		settings = append(settings, f.Value)
	}
	settings = slices.DeleteFunc(settings, func(v *kong.Value) bool {
		return v.Tag.Has("own") || strings.Contains(a.selected.Tag.Get("call"), "{"+v.Name+"}")
	})
	if len(settings) == 0 {
		return nil
	}
	fields := map[string]any{}
	for _, s := range settings {
		value := reflect.Indirect(s.Target)
		if !value.IsValid() || value.IsZero() && !s.HasDefault && s.Target.Kind() != reflect.Pointer {
			continue // not given
		}
		name := strings.ReplaceAll(s.Name, "-", "_")
		switch v := value.Interface().(type) {
		case time.Duration:
			fields[name+"_ms"] = v.Milliseconds()
		case time.Time:
			fields[name] = v.UnixMilli()
		default:
			fields[name] = v
		}
	}
	return fields
}

// bodyAs returns the body as a type of the API.
func bodyAs[T any](app *App) (body T) {
	if err := json.Unmarshal(wire.Encode(app.body()), &body); err != nil {
		panic(err) // a flag that is no field, which every test would meet
	}
	return body
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
	w    *tabwriter.Writer // Flush returns the errors of all writes
	zone *time.Location
}

func newTable(app *App) *table {
	return &table{w: tabwriter.NewWriter(app.Stdout, 0, 8, 2, ' ', 0), zone: app.Location}
}

// row writes one line. It makes every cell printable.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = printable(fmt.Sprint(cell))
	}
	fmt.Fprintln(t.w, strings.Join(texts, "\t")) //nolint:errcheck // Flush tells
}

// some writes a row unless the value is the zero value.
func some[T comparable](t *table, name string, value T) {
	if value != *new(T) {
		t.row(name, value)
	}
}

// row is an element of a list: the columns' headings, separated by commas, and its cells.
type row interface {
	columns(t *table) (headings string, cells []any)
}

// rows is a list that a table shows.
type rows[T row] []T

func (all rows[T]) show(t *table) {
	headings, _ := (*new(T)).columns(t)
	var titles []any
	for heading := range strings.SplitSeq(headings, ",") {
		titles = append(titles, heading)
	}
	t.row(titles...)
	for _, one := range all {
		_, cells := one.columns(t)
		t.row(cells...)
	}
}

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
		if rain.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
