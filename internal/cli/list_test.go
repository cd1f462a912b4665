package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/cli"
	"redrain/internal/openapi"
	"redrain/internal/testenv"
)

// listServer is a server of one list, vip, and keeps what was asked of it.
type listServer struct {
	*httptest.Server

	asked []string // method, path, what kind of body, and the body
}

func newListServer(t *testing.T) *listServer {
	t.Helper()
	s := &listServer{}
	vip := openapi.PlayerList{List: "vip", Of: "players", Purpose: "invite", Members: 3, CreatedAt: theDay,
		ChangedAt: theDay + 60_000, ChangedBy: "a\x1b[1mnn"}
	answers := map[string]any{
		"POST /api/v1/lists": vip, "GET /api/v1/lists/vip": vip, "POST /api/v1/lists/vip/members": vip,
		"PUT /api/v1/lists/vip/members": vip, "POST /api/v1/lists/vip/remove": vip, "DELETE /api/v1/lists/vip": nil,
		"DELETE /api/v1/lists/%E5%91%98%E5%B7%A5": nil,
		"GET /api/v1/lists?limit=500": client.List[openapi.PlayerList]{Items: []openapi.PlayerList{vip},
			Next: "vip"},
		"GET /api/v1/lists?cursor=vip&limit=500": client.List[openapi.PlayerList]{Items: []openapi.PlayerList{
			{List: "红", Of: "addresses", Purpose: "deny", CreatedAt: theDay, ChangedAt: theDay, ChangedBy: "bob"}}},
		"GET /api/v1/lists/vip/members?limit=500": client.List[openapi.ListMember]{Items: []openapi.ListMember{
			{Member: "u1", AddedAt: theDay}}, Next: "u1"},
		"GET /api/v1/lists/vip/members?cursor=u1&limit=500": client.List[openapi.ListMember]{
			Items: []openapi.ListMember{{Member: "u\x1b2", AddedAt: theDay}}},
		"GET /api/v1/lists/vip/members?limit=500&member=u7": client.List[openapi.ListMember]{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodGet {
			s.asked = append(s.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path,
				r.Header.Get("Content-Type"), body)))
		}
		answer, known := answers[r.Method+" "+r.URL.RequestURI()]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+operatorToken:
			refuse(w, http.StatusUnauthorized, "unauthorized", "give a valid token")
		case strings.Contains(string(body), "\x01"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"code":"invalid","detail":"invalid request","errors":[`+
				`{"field":"members","message":"line 2: a user id has no control characters"},`+
				`{"field":"members","message":"line 3: a user id has no control characters"}]}`)
		case !known:
			refuse(w, http.StatusNotFound, "unknown_list", "there is no such list")
		case answer == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			_ = json.NewEncoder(w).Encode(answer)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *listServer) at() map[string]string {
	return map[string]string{"REDRAIN_SERVER": s.URL, "REDRAIN_TOKEN": operatorToken}
}

func TestLists(t *testing.T) {
	file := writeFile(t, "player\nu1\n\"u,2\"\n")
	tests := map[string]struct {
		args, golden, asked string
	}{
		"create": {"create vip", "list.golden",
			`POST /api/v1/lists application/json {"list":"vip","of":"players","purpose":"invite"}`},
		"create to deny": {"create vip --of addresses --purpose deny", "list.golden",
			`POST /api/v1/lists application/json {"list":"vip","of":"addresses","purpose":"deny"}`},
		"create by words": {"create 员工", "list.golden",
			`POST /api/v1/lists application/json {"list":"员工","of":"players","purpose":"invite"}`},
		"delete by words": {"delete 员工", "list-deleted-words.golden", "DELETE /api/v1/lists/员工"},
		"show":            {"show vip", "list.golden", ""},
		"all":             {"show", "lists.golden", ""},
		"members":         {"members vip", "list-members.golden", ""},
		"nobody":          {"members vip --member u7", "list-nobody.golden", ""},
		"import": {"import vip " + file, "list.golden",
			"POST /api/v1/lists/vip/members text/csv player\nu1\n\"u,2\""},
		"replace": {"import vip " + file + " --replace", "list.golden",
			"PUT /api/v1/lists/vip/members text/csv player\nu1\n\"u,2\""},
		"add": {"add vip u1 红包 u,2", "list.golden",
			`POST /api/v1/lists/vip/members application/json {"members":["u1","红包","u,2"]}`},
		"remove": {"remove vip u1", "list.golden",
			`POST /api/v1/lists/vip/remove application/json {"members":["u1"]}`},
		"delete": {"delete vip", "list-deleted.golden", "DELETE /api/v1/lists/vip"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newListServer(t)
			got := run(t, s.at(), strings.Fields("list "+tc.args)...)
			if got.code != cli.ExitOK || got.stderr != "" {
				t.Fatalf("exit %d: %s", got.code, got.stderr)
			}
			golden(t, tc.golden, got.stdout)
			if diff := cmp.Diff(tc.asked, strings.Join(s.asked, "\n")); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// What is more than a request may carry goes in several.
func TestManyMembersAreAddedInSteps(t *testing.T) {
	s := newListServer(t)
	args := []string{"list", "add", "vip"}
	for i := range 1001 {
		args = append(args, fmt.Sprint("u", i))
	}
	if got := run(t, s.at(), args...); got.code != cli.ExitOK || len(s.asked) != 2 ||
		!strings.HasSuffix(s.asked[0], `"u999"]}`) || !strings.HasSuffix(s.asked[1], `{"members":["u1000"]}`) {
		t.Errorf("exit %d, %d requests: %s", got.code, len(s.asked), got.stderr)
	}
}

func TestListsAsJSON(t *testing.T) {
	s := newListServer(t)
	var one openapi.PlayerList
	var all []openapi.PlayerList
	var members []openapi.ListMember
	for args, into := range map[string]any{"list show vip": &one, "list show": &all, "list members vip": &members} {
		got := run(t, s.at(), append(strings.Fields(args), "--json")...)
		if err := json.Unmarshal([]byte(got.stdout), into); err != nil || got.code != cli.ExitOK {
			t.Errorf("%s: exit %d, %v:\n%s%s", args, got.code, err, got.stdout, got.stderr)
		}
	}
	if one.Members != 3 || len(all) != 2 || all[1].List != "红" || len(members) != 2 || members[1].Member != "u\x1b2" {
		t.Errorf("%+v, %+v, %+v", one, all, members)
	}
	got := run(t, s.at(), "list", "members", "vip", "--member", "u7", "--json")
	testenv.Equal(t, strings.TrimSpace(got.stdout), "[]", "nobody")
}

// What is refused is said with what to do, the code tells a script so, and nothing is on standard output.
func TestListsRefused(t *testing.T) {
	s := newListServer(t)
	bad, missing := writeFile(t, "u1\nu\x01\nv\x01\n"), filepath.Join(t.TempDir(), "none.csv")
	tests := map[string]struct {
		args string
		code int
		want string
	}{
		"no list": {"show nothing", cli.ExitFailure, "redrain: there is no such list (unknown_list)\n"},
		"bad lines": {"import vip " + bad, cli.ExitFailure,
			"redrain: members line 2: a user id has no control characters\n" +
				"redrain: members line 3: a user id has no control characters\n"},
		"no file": {"import vip " + missing, cli.ExitFailure,
			"redrain: the list's file: open " + missing + ": no such file or directory\n"},
		"no purpose": {"create vip --purpose maybe", cli.ExitUsage, `"invite","deny"`},
		"nobody":     {"add vip", cli.ExitUsage, "<members>"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, s.at(), strings.Fields("list "+tc.args)...)
			if got.code != tc.code || got.stdout != "" || !strings.Contains(got.stderr, tc.want) {
				t.Errorf("exit %d, output %q, error %q", got.code, got.stdout, got.stderr)
			}
		})
	}
	got := run(t, s.at(), "list", "import", "vip", bad, "--json")
	if got.code != cli.ExitFailure || !json.Valid([]byte(got.stderr)) || !strings.Contains(got.stderr, "line 3") {
		t.Errorf("as JSON: exit %d, %q", got.code, got.stderr)
	}
}
