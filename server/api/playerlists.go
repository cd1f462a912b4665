package api

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/timeout"
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

// deletePlayerList deletes a list, which then denies no player any more.
func (a *API) deletePlayerList(w http.ResponseWriter, r *http.Request, who caller) error {
	if err := a.o.Lists.Delete(a.audited(r, who, "list.delete", nil), r.PathValue("id")); err != nil {
		return err
	}
	a.o.TellLists(r.Context(), a.o.Clock())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listMembers lists the members of a list, or looks one up.
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

// removeMembers removes members from a list. After the answer no later win is paid that needs the membership.
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

// answerChanged applies a changed list on all nodes, and answers with it.
func (a *API) answerChanged(w http.ResponseWriter, r *http.Request, l standing.List, err error) error {
	if err == nil {
		a.o.TellLists(r.Context(), l.ChangedAt)
	}
	return answerAs(w, l, err, listViewOf)
}

// maxImport is the size limit of a list's CSV, in bytes: two million ids of sixty characters.
const maxImport = 128 << 20

// putMembers adds members to a list; with replace it removes all others. If one of them is invalid, nothing changes.
func (a *API) putMembers(replace bool) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		l, err := a.o.Lists.List(r.Context(), r.PathValue("id"))
		if err != nil {
			return err
		}
		action := "list.add"
		if replace {
			action = "list.replace"
		}
		if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "text/csv" {
			return a.importMembers(w, r, who, l, action)
		}
		members, err := readMembers(w, r, who, l.Kind)
		if err != nil {
			return err
		}
		ctx := a.audited(r, who, action, map[string]any{"given": len(members), "first": members[0]})
		if replace {
			l, err = a.o.Lists.Import(ctx, l.Name, true, slices.Values([][]string{members}))
		} else {
			l, err = a.o.Lists.Add(ctx, l.Name, members)
		}
		return a.answerChanged(w, r, l, err)
	}
}

// readMembers parses members from JSON, and returns them in the stored form.
func readMembers(w http.ResponseWriter, r *http.Request, who caller, kind standing.ListKind) ([]string, error) {
	in, err := bodyOf(w, r, who, openapi.NewMembers{})
	if err != nil {
		return nil, err
	}
	if len(in.Members) == 0 || len(in.Members) > ledger.MaxListed {
		return nil, rain.Invalid{{Field: "members",
			Message: fmt.Sprintf("is required: 1 to %d; more come as text/csv", ledger.MaxListed)}}
	}
	var faults rain.Invalid
	for i, m := range in.Members {
		if in.Members[i], err = kind.Canonical(m); err != nil && len(faults) < mostFaults {
			faults = append(faults, rain.FieldError{Field: fmt.Sprintf("members[%d]", i), Message: err.Error()})
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return in.Members, nil
}

// mostFaults is the number of invalid members that an answer names.
const mostFaults = 10

// importMembers reads the complete CSV before it changes anything. Then it goes on to the end, even if the client is
// gone.
func (a *API) importMembers(w http.ResponseWriter, r *http.Request, who caller, l standing.List,
	action string) error {
	if !a.importing.TryLock() {
		return ledger.ErrListBusy
	}
	defer a.importing.Unlock()
	lines, chunks, err := readCSV(http.MaxBytesReader(w, r.Body, maxImport), l.Kind)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.audited(r, who, action, map[string]any{"given": lines})),
		timeout.Rebuild)
	defer cancel()
	l, err = a.o.Lists.Import(ctx, l.Name, action == "list.replace", func(yield func([]string) bool) {
		for _, c := range chunks {
			if !yield(strings.Split(c, "\n")) {
				return
			}
		}
	})
	return a.answerChanged(w, r, l, err)
}

// readCSV reads the members in the first column of a CSV, in the stored form. It returns chunks of lines, which take
// less memory than single strings.
func readCSV(body io.Reader, kind standing.ListKind) (lines int, chunks []string, err error) {
	in := csv.NewReader(body)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	var chunk strings.Builder
	of := 0 // members in chunk
	var faults rain.Invalid
	for first := true; ; first = false {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, nil, csvFault(err)
		}
		cell := strings.TrimSpace(strings.TrimPrefix(record[0], "\ufeff")) // the byte order mark of spreadsheets
		if first && isHeading(kind, cell) {
			continue
		}
		member, err := kind.Canonical(cell)
		if err != nil {
			line, _ := in.FieldPos(0)
			faults = append(faults, rain.FieldError{Field: "members", Message: fmt.Sprintf("line %d: %s", line, err)})
			if len(faults) == mostFaults {
				return 0, nil, faults
			}
			continue
		}
		if of > 0 {
			chunk.WriteByte('\n')
		}
		chunk.WriteString(member)
		lines++
		if of++; of == ledger.ImportChunk {
			chunks = append(chunks, chunk.String())
			chunk.Reset()
			of = 0
		}
	}
	if len(faults) > 0 {
		return 0, nil, faults
	}
	if of > 0 {
		chunks = append(chunks, chunk.String())
	}
	return lines, chunks, nil
}

// isHeading reports whether the first cell is a heading.
func isHeading(kind standing.ListKind, cell string) bool {
	if kind == standing.KindAddresses {
		return cell == "address" || cell == "network"
	}
	return cell == "player" || cell == "user"
}

func csvFault(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("a list has at most %d bytes",
			maxImport))
	}
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		return rain.Invalid{{Field: "members", Message: fmt.Sprintf("line %d: %s", bad.Line, bad.Err)}}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // package sockets sets it
		return refuse(http.StatusRequestTimeout, "too_slow", "the request body timed out")
	}
	return refuse(http.StatusBadRequest, "malformed", "the body could not be read")
}
