package api

import (
	"context"
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

func listViewOf(l standing.List) openapi.PlayerList {
	return openapi.PlayerList{List: l.Name, Of: string(l.Kind), Purpose: string(l.Purpose), Members: l.Members,
		CreatedAt: l.CreatedAt, ChangedAt: l.ChangedAt, ChangedBy: l.ChangedBy}
}

func memberViewOf(m ledger.ListMember) openapi.ListMember {
	return openapi.ListMember{Member: m.Who, AddedAt: m.AddedAt}
}

func (a *API) playerLists(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Lists.ListLists, listViewOf)
}

func (a *API) playerList(w http.ResponseWriter, r *http.Request, _ caller) error {
	l, err := a.o.Lists.List(r.Context(), r.PathValue("id"))
	return answerAs(w, l, err, listViewOf)
}

func (a *API) createPlayerList(r *http.Request, who caller, body []byte, _ string) (int, any, error) {
	in := openapi.CreatePlayerListJSONBody{Of: string(standing.KindPlayers), Purpose: string(standing.PurposeInvite)}
	if err := decode(body, &in); err != nil {
		return 0, nil, err
	}
	var wrong faults
	wrong.checkErr(rain.CheckList(in.List), "list", "")
	kind, purpose := standing.ListKind(in.Of), standing.ListPurpose(in.Purpose)
	wrong.check(kind == standing.KindPlayers || kind == standing.KindAddresses, "of", "is players or addresses")
	wrong.check(purpose == standing.PurposeInvite || purpose == standing.PurposeDeny, "purpose", "is invite or deny")
	wrong.check(kind != standing.KindAddresses || purpose != standing.PurposeInvite, "purpose",
		"is deny for addresses: a campaign invites players")
	if err := wrong.err(); err != nil {
		return 0, nil, err
	}
	l, err := a.o.Lists.Create(a.audited(r, who, "list.create", nil), in.List, kind, purpose)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, listViewOf(l), nil
}

// deletePlayerList deletes a list. From then on nobody is denied by it.
func (a *API) deletePlayerList(w http.ResponseWriter, r *http.Request, who caller) error {
	if err := a.o.Lists.Delete(a.audited(r, who, "list.delete", nil), r.PathValue("id")); err != nil {
		return err
	}
	a.o.TellLists(r.Context(), a.o.Clock())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listMembers lists who is on a list, or tells whether one is.
func (a *API) listMembers(w http.ResponseWriter, r *http.Request, _ caller) error {
	l, err := a.o.Lists.List(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if one := r.URL.Query().Get("member"); one != "" {
		who, err := l.Kind.Canonical(one)
		if err != nil {
			return rain.Invalid{{Field: "member", Message: err.Error()}}
		}
		on, err := a.o.Lists.Among(r.Context(), l.Name, []string{who})
		if err != nil {
			return err
		}
		found := []ledger.ListMember{}
		if at, is := on[who]; is {
			found = append(found, ledger.ListMember{Who: who, AddedAt: at})
		}
		return answer(w, listOf(found, "", memberViewOf), nil)
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.ListMember, string, error) {
		return a.o.Lists.Members(ctx, l.Name, cursor, limit)
	}, memberViewOf)
}

// removeMembers takes members off a list. When it is answered, nothing is paid that they win without it.
func (a *API) removeMembers(w http.ResponseWriter, r *http.Request, who caller) error {
	l, err := a.o.Lists.List(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	members, err := readMembers(w, r, who, l.Kind)
	if err != nil {
		return err
	}
	detail := map[string]any{"removed": len(members), "first": members[0]}
	l, err = a.o.Lists.Remove(a.audited(r, who, "list.remove", detail), l.Name, members)
	return a.answerChanged(w, r, l, err)
}

// answerChanged has the nodes go by a list that has changed, and answers with it.
func (a *API) answerChanged(w http.ResponseWriter, r *http.Request, l standing.List, err error) error {
	if err == nil {
		a.o.TellLists(r.Context(), l.ChangedAt)
	}
	return answerAs(w, l, err, listViewOf)
}
