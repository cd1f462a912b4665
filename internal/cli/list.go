package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"redrain/client"
	"redrain/internal/openapi"
)

// listedAtOnce is how many members one request adds or removes.
const listedAtOnce = 1000

type listCreateCmd struct {
	List    string `arg:"" help:"Its name, such as vip or 员工; at most 64 bytes."`
	Of      string `default:"players" enum:"players,addresses" help:"What is on it: players or addresses."`
	Purpose string `default:"invite" enum:"invite,deny" help:"invite: campaigns name it, and only who is on it takes part in them. deny: who is on it takes part in nothing."`
	remote
}

// Run makes an empty list.
func (c *listCreateCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		l, err := api.CreateList(ctx, c.List, c.Of, c.Purpose)
		return c.showList(app, l, err)
	})
}

func (r *remote) showList(app *App, l openapi.PlayerList, err error) error {
	if err != nil {
		return err
	}
	return r.show(app, l, func(t *table) { t.playerLists([]openapi.PlayerList{l}) })
}

type listShowCmd struct {
	List string `arg:"" optional:"" help:"Its name; none: all lists."`
	remote
}

// Run shows a list, or all.
func (c *listShowCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		if c.List != "" {
			l, err := api.PlayerList(ctx, c.List)
			return c.showList(app, l, err)
		}
		all := []openapi.PlayerList{}
		for one, err := range client.All(ctx, api.PlayerLists) {
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return c.show(app, all, func(t *table) { t.playerLists(all) })
	})
}

type listMembersCmd struct {
	List   string `arg:"" help:"The list's name."`
	Member string `placeholder:"WHO" help:"Only whether this one is on it."`
	remote
}

// Run lists who is on a list.
func (c *listMembersCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		all := []openapi.ListMember{}
		for one, err := range client.All(ctx, func(ctx context.Context, p client.Page) (
			client.List[openapi.ListMember], error) {
			return api.ListMembers(ctx, c.List, c.Member, p)
		}) {
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return c.show(app, all, func(t *table) {
			t.row("MEMBER", "SINCE")
			for _, m := range all {
				t.row(m.Member, t.at(m.AddedAt))
			}
		})
	})
}

type listImportCmd struct {
	List    string `arg:"" help:"The list's name."`
	File    string `arg:"" help:"A CSV whose first column has the members. A first line of player, user, address or network is a heading."`
	Replace bool   `help:"Take off who is not in the file."`
	remote
}

// Run puts everybody in a file on a list. Where a line makes no sense nothing is changed.
func (c *listImportCmd) Run(app *App) error {
	file, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("the list's file: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return c.talk(func(ctx context.Context, api *client.Client) error {
		l, err := api.ImportMembers(ctx, c.List, file, c.Replace)
		return c.showList(app, l, err)
	})
}

// listChange is what adding and removing have in common.
type listChange struct {
	List    string   `arg:"" help:"The list's name."`
	Members []string `arg:"" help:"Players' ids, or addresses and networks such as 192.0.2.0/24."`
	remote
}

func (c *listChange) change(app *App, do func(ctx context.Context, api *client.Client,
	some []string) (openapi.PlayerList, error)) error {
	return c.talk(func(ctx context.Context, api *client.Client) (err error) {
		var l openapi.PlayerList
		for some := range slices.Chunk(c.Members, listedAtOnce) {
			if l, err = do(ctx, api, some); err != nil {
				return err
			}
		}
		return c.showList(app, l, nil)
	})
}

type listAddCmd struct{ listChange }

// Run puts some on a list.
func (c *listAddCmd) Run(app *App) error {
	return c.change(app, func(ctx context.Context, api *client.Client, some []string) (openapi.PlayerList,
		error) {
		return api.AddMembers(ctx, c.List, some)
	})
}

type listRemoveCmd struct{ listChange }

// Run takes some off a list.
func (c *listRemoveCmd) Run(app *App) error {
	return c.change(app, func(ctx context.Context, api *client.Client, some []string) (openapi.PlayerList,
		error) {
		return api.RemoveMembers(ctx, c.List, some)
	})
}

type listDeleteCmd struct {
	List string `arg:"" help:"The list's name."`
	remote
}

// Run deletes a list.
func (c *listDeleteCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		if err := api.DeleteList(ctx, c.List); err != nil {
			return err
		}
		return c.show(app, map[string]string{"deleted": c.List}, func(t *table) { t.row("deleted", c.List) })
	})
}

func (t *table) playerLists(all []openapi.PlayerList) {
	t.row("LIST", "OF", "PURPOSE", "MEMBERS", "CHANGED", "BY")
	for _, l := range all {
		t.row(l.List, l.Of, l.Purpose, l.Members, t.at(l.ChangedAt), l.ChangedBy)
	}
}
