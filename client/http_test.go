package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// seen is a request as the server got it.
type seen struct {
	Line, Token, Key, Accept, Type, Body string
}

// serve answers every request with one answer and notes the last request.
func serve(t *testing.T, status int, contentType, answer string) (*client.Client, *seen) {
	t.Helper()
	var last seen
	return connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = seen{
			Line: r.Method + " " + r.URL.RequestURI(), Token: r.Header.Get("Authorization"),
			Key:    r.Header.Get("Idempotency-Key"),
			Accept: r.Header.Get("Accept"), Type: r.Header.Get("Content-Type"), Body: string(body),
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}), &last
}

func connect(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{Server: s.URL + "/", Token: "op"})
	testenv.Must(t, err)
	t.Cleanup(c.Close)
	return c
}

const campaignJSON = `{"id":"c1","name":"Gala","sponsor":"acme","budget":1000,"packets":10,"split":"even",
	"min":1,"max":null,
	"amounts":null,"wins_per_user":2,"taps_per_user":0,"shards":1,"capacity":0,"admit_per_second":0,
	"expires_in_ms":1000,
	"state":"ready","created_at":1,"expires_at":1001,
	"revision":3,"rains":[{"id":"r1","campaign":"c1","phase":"ended",
	"starts_at":5,"ends_at":9,"first_wave":0,"commitment":"ab"}],
	"a_later_field":true}`

// TestRequests checks the request that a method sends, and its answer.
func TestRequests(t *testing.T) {
	ctx := t.Context()
	page := client.Page{Limit: 7, Cursor: "a b&c"}
	spec := rain.Spec{Name: "Gala", Sponsor: "acme", Budget: 1000, Packets: 10, Split: rain.Even, Min: 1,
		WinsPerUser: 2, Shards: 1, ExpiresInMS: 1000}
	tests := map[string]struct {
		answer     string
		do         func(*client.Client) (any, error)
		line, body string
		key        string
		want       any
	}{
		"Deposit": {`{"sponsor":"acme","balance":500}`, func(c *client.Client) (any, error) {
			return c.Deposit(ctx, "acme", "wire-1", 500)
		}, "POST /api/v1/sponsors/acme/deposits", `{"amount":500,"reference":"wire-1"}`, "",
			openapi.Sponsor{Sponsor: "acme", Balance: 500}},
		"Get": {`{"sponsor":"a/b","balance":5}`, func(c *client.Client) (any, error) {
			return client.Get[openapi.Sponsor](ctx, c, "sponsors", "a/b")
		}, "GET /api/v1/sponsors/a%2Fb", "", "", openapi.Sponsor{Sponsor: "a/b", Balance: 5}},
		"Pages": {`{"items":[{"sponsor":"acme","balance":5}],"next_cursor":"acme"}`,
			func(c *client.Client) (any, error) {
				return client.Pages[openapi.Sponsor](c, url.Values{"state": {"x"}}, "sponsors")(ctx, page)
			}, "GET /api/v1/sponsors?cursor=a+b%26c&limit=7&state=x", "", "",
			client.List[openapi.Sponsor]{Items: []openapi.Sponsor{{Sponsor: "acme", Balance: 5}}, Next: "acme"}},
		"CreateCampaign": {campaignJSON, func(c *client.Client) (any, error) {
			got, err := c.CreateCampaign(ctx, spec, "once")
			return []any{got.ID, got.Name, got.Budget, got.State, got.Rains[0].ID}, err
		}, "POST /api/v1/campaigns", string(wire.Encode(spec)), "once",
			[]any{"c1", "Gala", rain.Money(1000), "ready", "r1"}},
		"Withdraw": {`{"withdrawal":"w1","user":"u","amount":5,"state":"pending","created_at":7,"balance":3}`,
			func(c *client.Client) (any, error) {
				return c.Withdraw(ctx, 5, "once")
			}, "POST /api/v1/me/withdrawals", `{"amount":5}`, "once",
			openapi.Withdrawn{Withdrawal: wire.Withdrawal{ID: "w1", User: "u", Amount: 5,
				State: client.WithdrawalPending, CreatedAt: 7}, Balance: 3}},
		"MatchStatement": {`{"lines":2,"matched":1,"differences":1,"findings":[{"kind":"twice","name":"w1"}]}`,
			func(c *client.Client) (any, error) {
				return c.MatchStatement(ctx,
					openapi.MatchStatementJSONBody{Of: "deposits", From: 1, To: 2, File: []byte("a,b")})
			}, "POST /api/v1/statements/match", `{"of":"deposits","from":1,"to":2,"file":"YSxi"}`, "",
			openapi.StatementReport{Lines: 2, Matched: 1, Differences: 1,
				Findings: []openapi.StatementFinding{{Kind: "twice", Name: "w1"}}}},
		"RetryPayouts": {`{"retried":3,"settled":2,"still_dead":1,"need_two":4,"complete":true}`,
			func(c *client.Client) (any, error) { return c.RetryPayouts(ctx, "c1") },
			"POST /api/v1/payouts/retry", `{"campaign":"c1"}`, "",
			client.Retried{Retried: 3, Settled: 2, StillDead: 1, NeedTwo: 4, Complete: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, got := serve(t, http.StatusOK, "application/json", tc.answer)
			answer, err := tc.do(c)
			testenv.Must(t, err)
			want := seen{Line: tc.line, Token: "Bearer op", Key: tc.key, Accept: "application/json", Body: tc.body}
			if tc.body != "" {
				want.Type = "application/json"
			}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAll(t *testing.T) {
	pages := map[string]string{
		"":   `{"items":[{"id":"c1"},{"id":"c2"}],"next_cursor":"p2"}`,
		"p2": `{"items":[],"next_cursor":"p3"}`,
		"p3": `{"items":[{"id":"c3"}]}`,
	}
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		testenv.Equal(t, r.URL.Query().Get("limit"), "500", "limit of %s", r.URL)
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("cursor")])
	})
	var ids []string
	for one, err := range client.All(t.Context(), c.Campaigns) {
		testenv.Must(t, err)
		ids = append(ids, one.ID)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3"}, ids); diff != "" {
		t.Error(diff)
	}

	pages["p2"] = `{"items":[],"next_cursor":"p2"}` // a server that does not get on
	n := 0
	for _, err := range client.All(t.Context(), c.Campaigns) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	testenv.Equal(t, n, 2, "campaigns of a server that does not get on")

	delete(pages, "p2")
	var failed error
	for _, err := range client.All(t.Context(), c.Campaigns) {
		failed = err
	}
	if failed == nil {
		t.Error("a page that cannot be read is not reported")
	}
}
