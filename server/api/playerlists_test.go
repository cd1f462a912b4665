package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// library is the API before real lists.
type library struct {
	*testing.T

	api  *API
	told int // changes that the nodes were notified of
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l, b := &library{T: t}, paytest.OnSQLite(t)
	l.api = newAPI(Options{Lists: paytest.Node(t, b).Lists,
		Operators: testStaff, Players: onePlayer{}, Clock: b.Clock.Now, Log: paytest.Quiet,
		Answers: &desk{answered: map[string]*ledger.Answer{}}, Audit: &auditNotes{},
		TellLists: func(context.Context, int64) { l.told++ }})
	return l
}

// ask sends an operator's request. The answer must contain all of want.
func (l *library) ask(method, path, kind, body string, status int, want ...string) {
	l.Helper()
	w := ask(l.api, "operator", method, path, body, func(r *http.Request) { r.Header.Set("Content-Type", kind) })
	wantAnswer(l.T, w, status, want...)
}

func TestPlayerLists(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	const json = "application/json"
	for body, want := range map[string]string{
		`{"list":"../x"}`: `"field":"list"`, `{"list":"a","of":"nets"}`: `"field":"of"`,
		`{"list":"红/包"}`: `"field":"list"`, `{"list":" 红"}`: `"field":"list"`, `{"list":"-红"}`: `"field":"list"`,
		`{"list":"` + strings.Repeat("红", 22) + `"}`: `"field":"list"`, `{"list":"红\u200b"}`: `"field":"list"`,
		`{"list":"a","purpose":"x"}`: `"field":"purpose"`, `{"list":"a","of":"addresses"}`: `"field":"purpose"`,
		`{"list":"a","more":1}`: `"field":"more"`,
	} {
		l.ask("POST", "/lists", json, body, http.StatusUnprocessableEntity, want)
	}
	l.ask("POST", "/lists", json, `{"list":"vip"}`, http.StatusCreated, `"of":"players"`, `"purpose":"invite"`)
	l.ask("POST", "/lists", json, `{"list":"vip"}`, http.StatusConflict, "list_exists")
	l.ask("POST", "/lists", json, `{"list":"nets","of":"addresses","purpose":"deny"}`, http.StatusCreated)
	l.ask("GET", "/lists?limit=1", "", "", http.StatusOK, `"list":"nets"`, `"next_cursor":"nets"`)
	l.ask("POST", "/lists/vip/members", json, `{"members":["u1","u2","u1"]}`, http.StatusOK, `"members":2`)
	l.ask("POST", "/lists/vip/members", json, `{"members":["u3","a\u0000b"]}`, http.StatusUnprocessableEntity,
		"members[1]")
	l.ask("POST", "/lists/vip/members", json, `{"members":[]}`, http.StatusUnprocessableEntity, "1000")
	l.ask("POST", "/lists/nets/members", json, `{"members":["192.0.2.7/24","2001:db8::1"]}`, http.StatusOK)
	l.ask("GET", "/lists/nets/members", "", "", http.StatusOK, "192.0.2.0/24", "2001:db8::/64")
	l.ask("GET", "/lists/nets/members?member=192.0.2.0/24", "", "", http.StatusOK, `"member":"192.0.2.0/24"`)
	l.ask("GET", "/lists/nets/members?member=odd", "", "", http.StatusUnprocessableEntity)
	l.ask("GET", "/lists/vip/members?member=u7", "", "", http.StatusOK, `"items":[]`)
	l.ask("PUT", "/lists/vip/members", json, `{"members":["u2","u9"]}`, http.StatusOK, `"members":2`)
	l.ask("GET", "/lists/vip/members?limit=1&cursor=u2", "", "", http.StatusOK, `"member":"u9"`)
	l.ask("POST", "/lists/vip/remove", json, `{"members":["u9","u8"]}`, http.StatusOK, `"members":1`)
	l.ask("DELETE", "/lists/vip", "", "", http.StatusNoContent)
	for _, c := range [][2]string{{"GET", "/lists/vip"}, {"DELETE", "/lists/vip"}, {"GET", "/lists/vip/members"}} {
		l.ask(c[0], c[1], "", "", http.StatusNotFound, "unknown_list")
	}
	// A name is whatever a campaign's may be.
	const staff = `员工 2026 年会？(#1) 100%;&`
	path := "/lists/" + url.PathEscape(staff)
	l.ask("POST", "/lists", json, `{"list":"`+staff+`"}`, http.StatusCreated, "员工")
	l.ask("POST", path+"/members", json, `{"members":["u1"]}`, http.StatusOK, `"members":1`)
	l.ask("GET", path+"/members?member=u1", "", "", http.StatusOK, `"member":"u1"`)
	l.ask("DELETE", path, "", "", http.StatusNoContent)
	testenv.Equal(t, l.told, 7, "the nodes' notices of 5 changes")
}

// A file is read to its end before anything changes. The answer names each invalid line.
func TestImportedFiles(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.ask("POST", "/lists", "application/json", `{"list":"vip"}`, http.StatusCreated)
	l.ask("POST", "/lists", "application/json", `{"list":"nets","of":"addresses","purpose":"deny"}`, http.StatusCreated)
	put := func(list, file string, status int, want ...string) {
		t.Helper()
		l.ask("PUT", "/lists/"+list+"/members", "text/csv; charset=utf-8", file, status, want...)
	}
	put("vip", "\ufeffplayer\r\nu1,Ann\r\n\r\n \"u2\"\r\n", http.StatusUnprocessableEntity, "line 4")
	put("vip", "\ufeffplayer\r\nu1,Ann\r\n\r\n\"u2\"\r\n u3 \r\n", http.StatusOK, `"members":3`)
	put("vip", "user\n", http.StatusOK, `"members":0`)
	put("nets", "network\n192.0.2.0/24\n10.0.0.1\n", http.StatusOK, `"members":2`)
	put("nets", "192.0.2.0/24\n\nhost\n", http.StatusUnprocessableEntity, "line 3", "host")
	put("nets", "host\n192.0.2.0/24\nother\n"+strings.Repeat("odd\n", 50), http.StatusUnprocessableEntity,
		"line 1", "line 3", "line 11: ")
	put("nets", "\"192", http.StatusUnprocessableEntity, "line 1")
	l.ask("GET", "/lists/nets", "", "", http.StatusOK, `"members":2`)
	var many strings.Builder
	const all = 2*ledger.ImportChunk + 7
	for i := range all {
		fmt.Fprintf(&many, "u%d\n", i)
	}
	put("vip", many.String(), http.StatusOK, fmt.Sprintf(`"members":%d`, all))
	put("vip", many.String()+"u\x01\n", http.StatusUnprocessableEntity, fmt.Sprint("line ", all+1))
	l.ask("POST", "/lists/vip/members", "text/csv", "x1\nu1\n", http.StatusOK, fmt.Sprintf(`"members":%d`, all+1))
}
