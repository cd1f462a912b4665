package api

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"redrain/client/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/timeout"
)

func (a *API) playerLists(q *request) (any, error) { return listed(q, a.o.Lists.ListLists, same) }

func (a *API) playerList(q *request) (any, error) { return a.o.Lists.List(q.Context(), q.id()) }

func (a *API) createPlayerList(q *request) (any, error) {
	in, err := bodyOf(q, openapi.CreatePlayerListJSONBody{Of: string(standing.KindPlayers),
		Purpose: string(standing.PurposeInvite)})
	if err != nil {
		return nil, err
	}
	var wrong faults
	wrong.checkErr(rain.CheckList(in.List), "list", "")
	kind, purpose := standing.ListKind(in.Of), standing.ListPurpose(in.Purpose)
	wrong.check(kind == standing.KindPlayers || kind == standing.KindAddresses, "of", "is players or addresses")
	wrong.check(purpose == standing.PurposeInvite || purpose == standing.PurposeDeny, "purpose", "is invite or deny")
	wrong.check(kind != standing.KindAddresses || purpose != standing.PurposeInvite, "purpose",
		"is deny for addresses: a campaign invites players")
	if err := wrong.err(); err != nil {
		return nil, err
	}
	l, err := a.o.Lists.Create(q.audited("list.create", nil), in.List, kind, purpose)
	return created(l), err
}

// deletePlayerList deletes a list, which then denies no player any more.
func (a *API) deletePlayerList(q *request) (any, error) {
	if err := a.o.Lists.Delete(q.audited("list.delete", nil), q.id()); err != nil {
		return nil, err
	}
	a.o.TellLists(q.Context(), a.o.Clock())
	q.w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

// listMembers lists the members of a list, or looks one up.
func (a *API) listMembers(q *request) (any, error) {
	l, err := a.o.Lists.List(q.Context(), q.id())
	if err != nil {
		return nil, err
	}
	if one := q.query("member"); one != "" {
		who, err := l.Kind.Canonical(one)
		if err != nil {
			return nil, invalid("member", "%s", err)
		}
		on, err := a.o.Lists.Among(q.Context(), l.Name, []string{who})
		found := []ledger.ListMember{}
		if at, is := on[who]; is {
			found = append(found, ledger.ListMember{Who: who, AddedAt: at})
		}
		return list[ledger.ListMember]{Items: found}, err
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]ledger.ListMember, string, error) {
		return a.o.Lists.Members(ctx, l.Name, cursor, limit)
	}, same)
}

// removeMembers removes members from a list. After the answer no later win is paid that needs the membership.
func (a *API) removeMembers(q *request) (any, error) {
	l, err := a.o.Lists.List(q.Context(), q.id())
	if err != nil {
		return nil, err
	}
	members, err := readMembers(q, l.Kind)
	if err != nil {
		return nil, err
	}
	d := detail{"removed": len(members), "first": members[0]}
	return a.changed(q)(a.o.Lists.Remove(q.audited("list.remove", d), l.Name, members))
}

// changed returns a function that applies a changed list on all nodes, and answers with it.
func (a *API) changed(q *request) func(standing.List, error) (any, error) {
	return as(func(l standing.List) standing.List {
		a.o.TellLists(q.Context(), l.ChangedAt)
		return l
	})
}

// maxImport is the size limit of a list's CSV, in bytes: two million ids of sixty characters.
const maxImport = 128 << 20

// putMembers adds members to a list; with replace it removes all others. If one of them is invalid, nothing changes.
func (a *API) putMembers(replace bool) handler {
	action := "list.add"
	if replace {
		action = "list.replace"
	}
	return func(q *request) (any, error) {
		l, err := a.o.Lists.List(q.Context(), q.id())
		if err != nil {
			return nil, err
		}
		if media, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type")); media == "text/csv" {
			return a.importMembers(q, l, action, replace)
		}
		members, err := readMembers(q, l.Kind)
		if err != nil {
			return nil, err
		}
		ctx := q.audited(action, detail{"given": len(members), "first": members[0]})
		if replace {
			return a.changed(q)(a.o.Lists.Import(ctx, l.Name, true, slices.Values([][]string{members})))
		}
		return a.changed(q)(a.o.Lists.Add(ctx, l.Name, members))
	}
}

// readMembers parses members from JSON, and returns them in the stored form.
func readMembers(q *request, kind standing.ListKind) ([]string, error) {
	in, err := bodyOf(q, openapi.NewMembers{})
	if err != nil {
		return nil, err
	}
	if len(in.Members) == 0 || len(in.Members) > ledger.MaxListed {
		return nil, invalid("members", "is required: 1 to %d; more come as text/csv", ledger.MaxListed)
	}
	var wrong faults
	for i, m := range in.Members {
		if in.Members[i], err = kind.Canonical(m); len(wrong) < mostFaults {
			wrong.checkErr(err, fmt.Sprintf("members[%d]", i), "")
		}
	}
	return in.Members, wrong.err()
}

// mostFaults is the number of invalid members that an answer names.
const mostFaults = 10

// importMembers reads the complete CSV before it changes anything. Then it goes on to the end, even if the client is
// gone.
func (a *API) importMembers(q *request, l standing.List, action string, replace bool) (any, error) {
	if !a.importing.TryLock() {
		return nil, ledger.ErrListBusy
	}
	defer a.importing.Unlock()
	chunks, given, err := readCSV(http.MaxBytesReader(q.w, q.Body, maxImport), l.Kind)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.audited(action, detail{"given": given})),
		timeout.Rebuild)
	defer cancel()
	return a.changed(q)(a.o.Lists.Import(ctx, l.Name, replace, func(yield func([]string) bool) {
		for _, chunk := range chunks {
			if !yield(strings.Split(chunk, "\n")) {
				return
			}
		}
	}))
}

// readCSV reads the members in the first column of a CSV, in the stored form. A chunk has up to ledger.ImportChunk
// members, one to a line: a string for each of ten million members would take a gigabyte.
func readCSV(body io.Reader, kind standing.ListKind) (chunks []string, given int, err error) {
	in := csv.NewReader(body)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	var wrong faults
	var chunk strings.Builder
	for first := true; len(wrong) < mostFaults; first = false {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, 0, invalid("members", "line %d: %s", bad.Line, bad.Err)
		}
		if err != nil {
			return nil, 0, bodyFault(err, maxImport)
		}
		cell := strings.TrimSpace(strings.TrimPrefix(record[0], "\ufeff")) // the byte order mark of spreadsheets
		if first && isHeading(kind, cell) {
			continue
		}
		member, err := kind.Canonical(cell)
		line, _ := in.FieldPos(0)
		wrong.checkErr(err, "members", fmt.Sprintf("line %d: ", line))
		if given++; chunk.Len() > 0 {
			chunk.WriteByte('\n')
		}
		if chunk.WriteString(member); given%ledger.ImportChunk == 0 {
			chunks = append(chunks, chunk.String())
			chunk.Reset()
		}
	}
	if chunk.Len() > 0 {
		chunks = append(chunks, chunk.String())
	}
	return chunks, given, wrong.err()
}

// isHeading reports whether the first cell is a heading.
func isHeading(kind standing.ListKind, cell string) bool {
	if kind == standing.KindAddresses {
		return cell == "address" || cell == "network"
	}
	return cell == "player" || cell == "user"
}
