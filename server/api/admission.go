package api

import (
	"context"
	"net/http"
	"time"

	"redrain/grab/store"
	"redrain/internal/openapi"
	"redrain/rain"
	"redrain/server/clientip"
)

// Door lets players into the rooms of campaigns that let in a certain number. [admission.Door] does.
type Door interface {
	Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
}

// hangUpAfter is the time to the next question from which on a connection is not kept for it: one that waits costs the
// node several KB, and what waits here are players by the ten thousand.
const hangUpAfter = 2 * time.Second

// admission lets a player into a campaign's room, or tells their place in the waiting room, which is kept while they
// ask in time.
func (a *API) admission(w http.ResponseWriter, r *http.Request, who caller) error {
	id := r.URL.Query().Get("campaign")
	if id == "" {
		return rain.Invalid{{Field: "campaign", Message: "is required"}}
	}
	c, err := a.o.Campaigns.Get(r.Context(), id)
	if err != nil {
		return err
	}
	if err := a.o.MayPlay(r.Context(), c, who.user, clientip.RequestKey(r)); err != nil {
		return err
	}
	turn, err := a.o.Door.Ask(r.Context(), c, who.user)
	if err != nil {
		return err
	}
	view := openapi.Admission{Admitted: turn.Admitted}
	if !turn.Admitted {
		view.Position, view.RetryAfterMS = turn.Position, turn.Retry.Milliseconds()
		view.WaitMS = max(0, turn.Wait.Milliseconds())
		w.Header().Set("Retry-After", retryAfter(turn.Retry))
		if turn.Retry >= hangUpAfter {
			w.Header().Set("Connection", "close")
		}
	}
	return answer(w, view, nil)
}
