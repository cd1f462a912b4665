package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"redrain/client"
	"redrain/client/openapi"
)

type oneUser struct {
	User string `arg:"" help:"The player's id."`
}

// userOrder has the settings of disconnect, ban and unban.
type userOrder struct {
	oneUser
	Reason string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
}

// player is a player with the sanctions.
type player client.Player

func (p player) show(t *table) {
	t.row("user", p.User)
	some(t, "name", p.Name)
	t.row("balance", p.Balance)
	t.row("banned", p.Banned)
	for _, s := range p.Sanctions {
		t.row(s.Act, time.UnixMilli(s.At).UTC().Format(time.RFC3339), s.By, s.Reason)
	}
}

// atOnce is the number of claims that one request decides, and of members that one request adds or removes.
const atOnce = 1000

// riskOrderCmd implements release, which pays held wins, and confirm, which returns them to their sponsors.
type riskOrderCmd struct {
	Claims []string `arg:"" optional:"" help:"The claims, as risk list shows them."`
	User   string   `placeholder:"USER" help:"All held wins of one player, instead of claims. After a release the player may take part again."`
	Reason string   `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *riskOrderCmd) check() (faults faultList) {
	faults.when((len(c.Claims) > 0) == (c.User != ""), "give claims, or --user")
	return faults
}

// Run decides about held wins.
func (c *riskOrderCmd) Run(app *App) error {
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (rows[heldWin], error) {
		act, claims, decided := app.selected.Name, c.Claims, rows[heldWin]{}
		if c.User != "" {
			for w, err := range client.All(ctx, api.HeldWins) {
				if err != nil {
					return nil, err
				}
				if w.User == c.User {
					claims = append(claims, w.Claim)
				}
			}
			if act == "release" { // also without held wins: the player may be denied
				_, err := client.Post[client.List[heldWin]](ctx, api,
					openapi.HeldDecision{Users: []string{c.User}, Reason: c.Reason}, "risk", act)
				if err != nil {
					return nil, err
				}
			}
		}
		for some := range slices.Chunk(claims, atOnce) {
			done, err := client.Post[client.List[heldWin]](ctx, api,
				openapi.HeldDecision{Claims: some, Reason: c.Reason}, "risk", act)
			if err != nil {
				return nil, err
			}
			decided = append(decided, done.Items...)
		}
		return decided, nil
	})
}

type heldWin client.HeldWin

func (w heldWin) columns(t *table) (string, []any) {
	sentences := make([]string, len(w.Reasons))
	for i, r := range w.Reasons {
		sentences[i] = r.Sentence
	}
	return "CLAIM,STATE,AMOUNT,SINCE,SCORE,USER,REASONS",
		[]any{w.Claim, w.State, w.Amount, t.at(w.HeldAt), w.Score, w.User, strings.Join(sentences, "; ")}
}

type newList struct {
	List    string `arg:"" help:"Its name, such as vip or 员工; at most 64 bytes."`
	Of      string `default:"players" enum:"players,addresses" help:"Kind of its members: players or addresses."`
	Purpose string `default:"invite" enum:"invite,deny" help:"invite: only its members take part in the campaigns that name it. deny: its members take part in no campaign."`
}

type listShowCmd struct {
	List string `arg:"" optional:"" help:"Its name; none: all lists."`
	remote
}

// Run shows a list, or all.
func (c *listShowCmd) Run(app *App) error {
	if c.List == "" {
		return showList[playerList](&c.remote, app, nil, "lists")
	}
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (playerList, error) {
		return client.Get[playerList](ctx, api, "lists", c.List)
	})
}

type listMembers struct {
	List   string `arg:"" help:"The list's name."`
	Member string `placeholder:"WHO" help:"Only whether this one is a member."`
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
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (playerList, error) {
		l, err := api.ImportMembers(ctx, c.List, file, c.Replace)
		return playerList(l), err
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
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (l playerList, err error) {
		_, path := app.endpoint()
		for some := range slices.Chunk(c.Members, atOnce) {
			if l, err = client.Post[playerList](ctx, api, openapi.NewMembers{Members: some}, path...); err != nil {
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
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (deletedList, error) {
		return deletedList{c.List}, api.DeleteList(ctx, c.List)
	})
}

type deletedList struct {
	Deleted string `json:"deleted"`
}

func (d deletedList) show(t *table) { t.row("deleted", d.Deleted) }

type playerList openapi.PlayerList

func (l playerList) show(t *table) { rows[playerList]{l}.show(t) }

func (l playerList) columns(t *table) (string, []any) {
	return "LIST,OF,PURPOSE,MEMBERS,CHANGED,BY",
		[]any{l.List, l.Of, l.Purpose, l.Members, t.at(l.ChangedAt), l.ChangedBy}
}

type member openapi.ListMember

func (m member) columns(t *table) (string, []any) {
	return "MEMBER,SINCE", []any{m.Member, t.at(m.AddedAt)}
}
