package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
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

// userOrderCmd implements disconnect, ban and unban.
type userOrderCmd struct {
	User   string `arg:"" help:"The player's id."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

// Run disconnects, bans or unbans a player.
func (c *userOrderCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).player, openapi.BanUserJSONBody{Reason: c.Reason}, "users", c.User, app.verb)
}

// player shows a player with the sanctions.
func (t *table) player(p client.Player) {
	t.row("user", p.User)
	t.some("name", p.Name)
	t.row("balance", p.Balance)
	t.row("banned", p.Banned)
	for _, s := range p.Sanctions {
		t.row(s.Act, time.UnixMilli(s.At).UTC().Format(time.RFC3339), s.By, s.Reason)
	}
}

// decidedAtOnce is the number of claims that one request decides.
const decidedAtOnce = 1000

type riskListCmd struct{ remote }

// Run lists the held wins, with the reasons against their players.
func (c *riskListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).heldWins, url.Values{"state": {"held"}}, "risk", "held")
}

// riskOrderCmd implements release, which pays held wins to their players, and confirm, which returns them to their
// sponsors.
type riskOrderCmd struct {
	Claims []string `arg:"" optional:"" help:"The claims, as risk list shows them."`
	User   string   `placeholder:"USER" help:"All held wins of one player, instead of claims. After a release the player may take part again."`
	Reason string   `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *riskOrderCmd) check() []string {
	faults := faultList(c.remote.check())
	faults.when((len(c.Claims) > 0) == (c.User != ""), "give claims, or --user")
	return faults
}

// Run decides about held wins.
func (c *riskOrderCmd) Run(app *App) error {
	return ask(&c.remote, app, (*table).heldWins, func(ctx context.Context, api *client.Client) ([]client.HeldWin,
		error) {
		claims, decided := c.Claims, []client.HeldWin{}
		if c.User != "" {
			wins, err := collect(client.All(ctx, api.HeldWins))
			if err != nil {
				return nil, err
			}
			for _, w := range wins {
				if w.User == c.User {
					claims = append(claims, w.Claim)
				}
			}
			if app.verb == "release" { // also without held wins: the player may be denied
				_, err := client.Post[client.List[client.HeldWin]](ctx, api,
					openapi.HeldDecision{Users: []string{c.User}, Reason: c.Reason}, "risk", "release")
				if err != nil {
					return nil, err
				}
			}
		}
		for some := range slices.Chunk(claims, decidedAtOnce) {
			done, err := api.DecideHeld(ctx, app.verb, some, c.Reason)
			if err != nil {
				return nil, err
			}
			decided = append(decided, done.Items...)
		}
		return decided, nil
	})
}

func (t *table) heldWins(wins []client.HeldWin) {
	t.row("CLAIM", "STATE", "AMOUNT", "SINCE", "SCORE", "USER", "REASONS")
	for _, w := range wins {
		sentences := make([]string, len(w.Reasons))
		for i, r := range w.Reasons {
			sentences[i] = r.Sentence
		}
		t.row(w.Claim, w.State, w.Amount, t.at(w.HeldAt), w.Score, w.User, strings.Join(sentences, "; "))
	}
}

// listedAtOnce is the number of members that one request adds or removes.
const listedAtOnce = 1000

type listCreateCmd struct {
	List    string `arg:"" help:"Its name, such as vip or 员工; at most 64 bytes."`
	Of      string `default:"players" enum:"players,addresses" help:"Kind of its members: players or addresses."`
	Purpose string `default:"invite" enum:"invite,deny" help:"invite: only its members take part in the campaigns that name it. deny: its members take part in no campaign."`
	remote
}

// Run makes an empty list.
func (c *listCreateCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).playerList,
		openapi.CreatePlayerListJSONBody{List: c.List, Of: c.Of, Purpose: c.Purpose}, "lists")
}

type listShowCmd struct {
	List string `arg:"" optional:"" help:"Its name; none: all lists."`
	remote
}

// Run shows a list, or all.
func (c *listShowCmd) Run(app *App) error {
	if c.List != "" {
		return get(&c.remote, app, (*table).playerList, "lists", c.List)
	}
	return list(&c.remote, app, (*table).playerLists, nil, "lists")
}

type listMembersCmd struct {
	List   string `arg:"" help:"The list's name."`
	Member string `placeholder:"WHO" help:"Only whether this one is a member."`
	remote
}

// Run lists the members of a list.
func (c *listMembersCmd) Run(app *App) error {
	query := url.Values{}
	if c.Member != "" {
		query.Set("member", c.Member)
	}
	return list(&c.remote, app, (*table).members, query, "lists", c.List, "members")
}

type listImportCmd struct {
	List    string `arg:"" help:"The list's name."`
	File    string `arg:"" help:"A CSV whose first column has the members. A first line of player, user, address or network is a heading."`
	Replace bool   `help:"Remove members that are not in the file."`
	remote
}

// Run adds the members in a file to a list. If a line is invalid, nothing changes.
func (c *listImportCmd) Run(app *App) error {
	file, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("the list's file: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return ask(&c.remote, app, (*table).playerList, func(ctx context.Context, api *client.Client) (openapi.PlayerList,
		error) {
		return api.ImportMembers(ctx, c.List, file, c.Replace)
	})
}

// listChangeCmd implements add and remove.
type listChangeCmd struct {
	List    string   `arg:"" help:"The list's name."`
	Members []string `arg:"" help:"Players' ids, or addresses and networks such as 192.0.2.0/24."`
	remote
}

// Run adds members to a list, or removes them.
func (c *listChangeCmd) Run(app *App) error {
	end := map[string]string{"add": "members", "remove": "remove"}[app.verb]
	return ask(&c.remote, app, (*table).playerList, func(ctx context.Context, api *client.Client) (l openapi.PlayerList,
		err error) {
		for some := range slices.Chunk(c.Members, listedAtOnce) {
			l, err = client.Post[openapi.PlayerList](ctx, api, openapi.NewMembers{Members: some}, "lists", c.List, end)
			if err != nil {
				return l, err
			}
		}
		return l, nil
	})
}

type listDeleteCmd struct {
	List string `arg:"" help:"The list's name."`
	remote
}

// Run deletes a list.
func (c *listDeleteCmd) Run(app *App) error {
	return ask(&c.remote, app, func(t *table, _ map[string]string) { t.row("deleted", c.List) },
		func(ctx context.Context, api *client.Client) (map[string]string, error) {
			return map[string]string{"deleted": c.List}, api.DeleteList(ctx, c.List)
		})
}

func (t *table) playerList(l openapi.PlayerList) { t.playerLists([]openapi.PlayerList{l}) }

func (t *table) playerLists(all []openapi.PlayerList) {
	t.row("LIST", "OF", "PURPOSE", "MEMBERS", "CHANGED", "BY")
	for _, l := range all {
		t.row(l.List, l.Of, l.Purpose, l.Members, t.at(l.ChangedAt), l.ChangedBy)
	}
}

func (t *table) members(all []openapi.ListMember) {
	t.row("MEMBER", "SINCE")
	for _, m := range all {
		t.row(m.Member, t.at(m.AddedAt))
	}
}
