package api

import (
	"context"
	"net/http"
	"unicode/utf8"

	"redrain/grab/store"
	"redrain/payout/ledger"
	"redrain/payout/ledger/sanction"
	"redrain/payout/ledger/verdict"
	"redrain/rain"
)

// playerList finds players. [ledger.Players] does.
type playerList interface {
	ListPlayers(ctx context.Context, prefix, after string, limit int) (list []ledger.Player, next string, err error)
}

// Connections tells which connections players have, on all nodes. [store.Connections] does.
type Connections interface {
	Of(ctx context.Context, user string) ([]store.Connection, error)
}

type playerView struct {
	User    string     `json:"user"`
	Balance rain.Money `json:"balance"`
	Banned  bool       `json:"banned"`
}

// users lists the players whose ids begin with what is asked for, in the order of their ids.
func (a *API) users(w http.ResponseWriter, r *http.Request, _ caller) error {
	prefix := r.URL.Query().Get("prefix")
	if len(prefix) > rain.MaxUserLen || !utf8.ValidString(prefix) {
		return rain.Invalid{{Field: "prefix", Message: "is the beginning of a player's id"}}
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.Player, string, error) {
		if !utf8.ValidString(cursor) {
			return nil, "", ledger.ErrBadCursor
		}
		return a.o.PlayerList.ListPlayers(ctx, prefix, cursor, limit)
	}, func(p ledger.Player) playerView {
		return playerView{User: p.User, Balance: p.Balance, Banned: p.Banned}
	})
}

type banView struct {
	User   string `json:"user"`
	Reason string `json:"reason"`
	By     string `json:"by"`
	At     int64  `json:"at"`
}

// bans lists who is banned, the newest first.
func (a *API) bans(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Sanctions.Bans, func(s sanction.Sanction) banView {
		return banView{User: s.User, Reason: s.Reason, By: s.By, At: s.At}
	})
}

type connectionView struct {
	Node  string `json:"node"`
	Since int64  `json:"since"`
}

// connectionsOf are a player's connections; nil where nobody can say: then the rest of what is known is shown.
func (a *API) connectionsOf(ctx context.Context, user string) []connectionView {
	found, err := a.o.Connections.Of(ctx, user)
	if err != nil {
		a.o.Log.Warn("which connections a player has is not known now", "err", err)
		return nil
	}
	views := make([]connectionView, len(found))
	for i, c := range found {
		views[i] = connectionView{Node: c.Node, Since: c.Since}
	}
	return views
}

type verdictView struct {
	Verdict string           `json:"verdict"`
	Score   int              `json:"score"`
	Reasons []verdict.Reason `json:"reasons"`
	By      string           `json:"by"`
	At      int64            `json:"at"`
}

func verdictViewOf(v verdict.Verdict) verdictView {
	return verdictView{Verdict: string(v.Act), Score: v.Score, Reasons: verdict.Parse(v.Reasons), By: v.By, At: v.At}
}
