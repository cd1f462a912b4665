package api

import (
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger/standing"
)

func (a *API) user(w http.ResponseWriter, r *http.Request, _ caller) error {
	return a.showPlayer(w, r)
}

func (a *API) showPlayer(w http.ResponseWriter, r *http.Request) error {
	user := r.PathValue("id")
	balance, err := a.o.Claims.UserBalance(r.Context(), user)
	if err != nil {
		return err
	}
	given, err := a.o.Sanctions.Of(r.Context(), user)
	if err != nil {
		return err
	}
	verdicts, err := a.o.Held.VerdictsOf(r.Context(), user)
	if err != nil {
		return err
	}
	p := openapi.Player{User: user, Balance: balance, Sanctions: []openapi.Sanction{},
		Verdicts: listOf(verdicts, "", verdictViewOf).Items, Connections: a.connectionsOf(r.Context(), user)}
	if a.o.Name != nil {
		p.Name = a.o.Name(r.Context(), user)
	}
	for i := range given {
		s := given[len(given)-1-i] // the oldest first, so that the newest decides
		if s.Act != standing.Disconnect {
			p.Banned = s.Act == standing.Ban
		}
		p.Sanctions = append(p.Sanctions, openapi.Sanction{Act: string(given[i].Act), Reason: given[i].Reason,
			By: given[i].By, At: given[i].At})
	}
	return answer(w, p, nil)
}

// sanction does something about a player. When it is answered, the ledger has it: nothing that a banned player wins
// from then on is paid, whatever a node lets happen that has not heard of it. This node's connections of the player
// have ended; the others' do as they hear of it.
func (a *API) sanction(act standing.SanctionAct) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		reason, _, err := readReason(w, r, who, true)
		if err != nil {
			return err
		}
		ctx := a.audited(r, who, "user."+string(act), map[string]any{"reason": reason})
		given, err := a.o.Sanctions.Give(ctx, r.PathValue("id"), act, personOf(who, reason))
		if err != nil {
			return err
		}
		a.o.TellSanction(r.Context(), given)
		return a.showPlayer(w, r)
	}
}
