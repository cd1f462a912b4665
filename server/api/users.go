package api

import (
	"context"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"redrain/grab/store"
	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Connections tells which connections players have, on all nodes. [store.Connections] does.
type Connections interface {
	Of(ctx context.Context, user string) ([]store.Connection, error)
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
	}, func(p ledger.Player) openapi.FoundPlayer {
		return openapi.FoundPlayer{User: p.User, Balance: p.Balance, Banned: p.Banned}
	})
}

// bans lists who is banned, the newest first.
func (a *API) bans(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Sanctions.Bans, func(s standing.Sanction) openapi.Banned {
		return openapi.Banned{User: s.User, Reason: s.Reason, By: s.By, At: s.At}
	})
}

// connectionsOf are a player's connections; nil where nobody can say: then the rest of what is known is shown.
func (a *API) connectionsOf(ctx context.Context, user string) []openapi.PlayerConnection {
	found, err := a.o.Connections.Of(ctx, user)
	if err != nil {
		a.o.Log.Warn("which connections a player has is not known now", "err", err)
		return nil
	}
	views := make([]openapi.PlayerConnection, len(found))
	for i, c := range found {
		views[i] = openapi.PlayerConnection{Node: c.Node, Since: c.Since}
	}
	return views
}

func verdictViewOf(v standing.Verdict) openapi.RiskVerdict {
	return openapi.RiskVerdict{
		Verdict: string(v.Act), Score: v.Score, Reasons: reasonsOf(v.Reasons), By: v.By, At: v.At,
	}
}

// reasonsOf reads the reasons of a verdict. A tampered row has none.
func reasonsOf(text string) []openapi.RiskReason {
	var reasons []openapi.RiskReason
	if json.Unmarshal([]byte(text), &reasons) != nil || reasons == nil {
		return []openapi.RiskReason{}
	}
	return reasons
}
