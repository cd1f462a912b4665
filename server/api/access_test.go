package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// matrix says for each route who may call it, by the credentials in credentials; "all" is everybody, also without one.
var matrix = map[string]string{
	"POST /sponsors/{id}/deposits":              "cashier admin shared",
	"GET /sponsors":                             readers,
	"GET /sponsors/{id}":                        readers,
	"POST /splits/preview":                      readers,
	"POST /campaigns":                           "operator admin shared",
	"GET /campaigns":                            readers,
	"GET /campaigns/{id}":                       readers,
	"POST /campaigns/{id}/rains":                "operator admin shared",
	"POST /campaigns/{id}/rains/{rain}/stop":    "operator admin shared",
	"POST /campaigns/{id}/pause":                "operator admin shared",
	"POST /campaigns/{id}/resume":               "operator admin shared",
	"POST /campaigns/{id}/close":                "operator admin shared",
	"GET /campaigns/{id}/export":                "operator admin shared",
	"POST /campaigns/{id}/rebuild":              "operator admin shared",
	"GET /campaigns/{id}/stats":                 readers,
	"GET /campaigns/{id}/history":               readers,
	"GET /campaigns/{id}/claims":                readers,
	"GET /campaigns/{id}/reconciliation":        readers,
	"GET /campaigns/{id}/rains/{rain}/fairness": "all",
	"GET /reconciliation":                       readers,
	"GET /reconciliation/full":                  readers,
	"GET /reconciliation/proved":                readers,
	"GET /payouts":                              readers,
	"POST /payouts/retry":                       "cashier admin shared",
	"POST /payouts/{claim}/retry":               "cashier admin shared",
	"POST /payouts/{claim}/dismiss":             "cashier admin shared",
	"GET /users":                                readers,
	"GET /bans":                                 readers,
	"GET /alarms":                               readers,
	"GET /risk":                                 readers,
	"GET /users/{id}":                           readers,
	"POST /users/{id}/disconnect":               "operator admin shared",
	"POST /users/{id}/ban":                      "operator admin shared",
	"POST /users/{id}/unban":                    "operator admin shared",
	"GET /risk/held":                            readers,
	"POST /risk/release":                        "cashier admin shared",
	"POST /risk/confirm":                        "cashier admin shared",
	"GET /lists":                                readers,
	"POST /lists":                               "operator admin shared",
	"GET /lists/{id}":                           readers,
	"DELETE /lists/{id}":                        "operator admin shared",
	"GET /lists/{id}/members":                   readers,
	"POST /lists/{id}/members":                  "operator admin shared",
	"PUT /lists/{id}/members":                   "operator admin shared",
	"POST /lists/{id}/remove":                   "operator admin shared",
	"GET /users/{id}/claims":                    readers,
	"GET /users/{id}/withdrawals":               readers,
	"GET /withdrawals":                          readers,
	"GET /withdrawals/{id}":                     readers,
	"POST /withdrawals/{id}/hold":               "cashier admin shared",
	"POST /withdrawals/{id}/release":            "cashier admin shared",
	"POST /withdrawals/{id}/paid":               "cashier admin shared",
	"POST /withdrawals/{id}/back":               "cashier admin shared",
	"GET /approvals":                            readers,
	"GET /approvals/{id}":                       readers,
	"POST /approvals/{id}/confirm":              "cashier admin shared",
	"POST /approvals/{id}/reject":               "cashier admin shared",
	"GET /me":                                   "player",
	"GET /admission":                            "player",
	"POST /login-codes":                         "player admin shared",
	"POST /login":                               "all",
	"GET /login/oidc":                           "all",
	"GET /login/oidc/callback":                  "all",
	"GET /login/wechat":                         "all",
	"GET /login/wechat/callback":                "all",
	"POST /login/wechat-mini":                   "all",
	"GET /wechat/sign":                          "all",
	"GET /me/claims":                            "player",
	"POST /me/withdrawals":                      "player",
	"GET /me/withdrawals":                       "player",
	"GET /me/withdrawals/{id}":                  "player",
	"POST /me/token":                            "player",
	"POST /guests":                              "all",
	"POST /providers/wechat/notifications":      "all",
	"POST /providers/alipay/notifications":      "all",
	"GET /lobby":                                "all",
	"GET /auth/config":                          "all",
	"GET /whoami":                               readers,
	"GET /events":                               readers,
	"GET /audit":                                readers,
	"GET /audit/roots":                          readers,
	"POST /audit/verify":                        readers,
	"POST /statements/match":                    readers,
	"POST /seal/rotate":                         "admin shared",
}

const readers = "viewer operator cashier admin both shared shared-viewer"

// credentials are the callers that a route is tested with, by their tokens. Four are special: no token, an unknown one,
// a person without a role, and "both" with the rights of two roles.
var credentials = strings.Fields("nobody wrong player none viewer operator cashier admin both shared shared-viewer")

// staff are operators by their tokens.
type staff map[string]auth.Operator

func (s staff) Operator(_ context.Context, bearer string) (auth.Operator, error) {
	if who, known := s[bearer]; known {
		return who, nil
	}
	return auth.Operator{}, auth.ErrNoOperator
}

// person is an operator of the tests. The token is the name.
func person(name string, roles ...auth.Role) auth.Operator {
	return auth.Operator{Name: name, ID: "token:" + name, Roles: roles}
}

var testStaff = staff{
	"none": person("none"), "viewer": person("viewer", auth.RoleViewer),
	"operator": person("operator", auth.RoleOperator), "cashier": person("cashier", auth.RoleCashier),
	"admin": person("admin", auth.RoleAdmin), "both": person("both", auth.RoleOperator, auth.RoleCashier),
	"shared":        {Name: "operator", Roles: []auth.Role{auth.RoleOperator}, Shared: true},
	"shared-viewer": {Name: "viewer", Roles: []auth.Role{auth.RoleViewer}, Shared: true},
}

// TestRoleMatrix asks every route with every credential. A route without a line in the matrix fails.
func TestRoleMatrix(t *testing.T) {
	t.Parallel()
	a := newAPI(Options{Operators: testStaff, Players: onePlayer{}, Audit: &auditNotes{},
		Log: slog.New(slog.DiscardHandler)})
	left := len(matrix)
	for _, rt := range a.routes() {
		name := rt.method + " " + rt.path
		allowed, known := matrix[name]
		if !known {
			t.Errorf("say in the matrix who may %s", name)
			continue
		}
		left--
		rt.handle = func(*request) (any, error) { return reply{http.StatusTeapot, nil}, nil }
		for _, who := range credentials {
			r := httptest.NewRequest(rt.method, "/", nil)
			if who != "nobody" {
				r.Header.Set("Authorization", "Bearer "+who)
			}
			w := httptest.NewRecorder()
			a.serve(w, r, rt)
			if asks := w.Header().Get("WWW-Authenticate"); (asks == `Bearer realm="redrain"`) != (w.Code == 401) {
				t.Errorf("%s by %s: %d, asks %q", name, who, w.Code, asks)
			}
			testenv.Equal(t, w.Code, expected(allowed, who, rt.need == player), "%s by %s", name, who)
		}
	}
	testenv.Equal(t, left, 0, "lines of the matrix are about no route")
}

// expected returns the status that a caller gets on a route. The route's own handler returns 418.
func expected(allowed, who string, ofPlayers bool) int {
	has := strings.Fields(allowed)
	both := slices.Contains(has, "operator") || slices.Contains(has, "cashier")
	stranger := slices.Contains([]string{"nobody", "wrong", "player"}, who) || ofPlayers
	switch {
	case allowed == "all", slices.Contains(has, who), who == "both" && both:
		return http.StatusTeapot
	case stranger:
		return http.StatusUnauthorized
	default:
		return http.StatusForbidden
	}
}

// onePlayer knows the token of one player.
type onePlayer struct{ Players }

func (onePlayer) Grant(_ context.Context, token string) (auth.Grant, error) {
	if token != "player" {
		return auth.Grant{}, fmt.Errorf("%w: whose is it?", auth.ErrBadToken)
	}
	return auth.Grant{User: "u1"}, nil
}

// TestWhoAmI checks the name, the roles and the rights.
func TestWhoAmI(t *testing.T) {
	t.Parallel()
	a := newAPI(Options{Operators: testStaff, Audit: &auditNotes{}, Clock: func() int64 { return 7 },
		Log: slog.New(slog.DiscardHandler)})
	for token, want := range map[string]string{
		"cashier": `"name":"cashier","role":"cashier","rights":["read","deposits","withdrawals","letters",` +
			`"approvals"],"shared":false`,
		"both": `"role":"operator,cashier","rights":["read","campaigns","deposits","withdrawals","letters",` +
			`"approvals","players"]`,
		"shared": `"name":"operator","role":"operator","rights":["read","campaigns","deposits","withdrawals",` +
			`"letters",` +
			`"approvals","players","seal","logins"],"shared":true`,
		"none": `this needs the right read`,
	} {
		if w := ask(a, token, "GET", "/whoami", ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", token, w.Body)
		}
	}
}
