package operator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/operator"
	"redrain/rain"
)

// seen is a request as the server got it.
type seen struct {
	Line, Token, Key, Accept, Type, Body string
}

// serve answers every request with one answer and notes the last request.
func serve(t *testing.T, status int, contentType, answer string) (*operator.Client, *seen) {
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

func connect(t *testing.T, h http.HandlerFunc) *operator.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := operator.New(operator.Options{Server: s.URL + "/", Token: "op"})
	if err != nil {
		t.Fatal(err)
	}
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

// Each method must send what the contract says and read what it answers.
func TestRequests(t *testing.T) {
	ctx := t.Context()
	inThree := int64(3000)
	page := operator.Page{Limit: 7, Cursor: "a b&c"}
	tests := map[string]struct {
		answer     string
		do         func(*operator.Client) (any, error)
		line, body string
		key        string
		want       any
	}{
		"Deposit": {`{"sponsor":"acme","balance":500}`, func(c *operator.Client) (any, error) {
			return c.Deposit(ctx, "acme", "wire-1", 500)
		}, "POST /api/v1/sponsors/acme/deposits", `{"amount":500,"reference":"wire-1"}`, "",
			operator.Sponsor{Sponsor: "acme", Balance: 500}},
		"Sponsor": {`{"sponsor":"a/b","balance":5}`, func(c *operator.Client) (any, error) {
			return c.Sponsor(ctx, "a/b")
		}, "GET /api/v1/sponsors/a%2Fb", "", "", operator.Sponsor{Sponsor: "a/b", Balance: 5}},
		"Sponsors": {`{"items":[{"sponsor":"acme","balance":5}],"next_cursor":"acme"}`,
			func(c *operator.Client) (any, error) {
				return c.Sponsors(ctx, page)
			}, "GET /api/v1/sponsors?cursor=a+b%26c&limit=7", "", "",
			operator.List[operator.Sponsor]{Items: []operator.Sponsor{{Sponsor: "acme", Balance: 5}}, Next: "acme"}},
		"CreateCampaign": {campaignJSON, func(c *operator.Client) (any, error) {
			got, err := c.CreateCampaign(ctx, rain.Spec{Name: "Gala", Sponsor: "acme", Budget: 1000, Packets: 10,
				Split: rain.Even, Min: 1, WinsPerUser: 2, Shards: 1, ExpiresInMS: 1000}, "once")
			return []any{got.ID, got.Name, got.Budget, got.State, got.Rains[0].ID}, err
		}, "POST /api/v1/campaigns", `{"name":"Gala","sponsor":"acme","budget":1000,"packets":10,"split":"even",` +
			`"min":1,"max":null,` +
			`"amounts":null,"wins_per_user":2,"taps_per_user":0,"shards":1,` +
			`"capacity":0,"admit_per_second":0,"players":null,"guests_share":null,"expires_in_ms":1000}`, "once",
			[]any{"c1", "Gala", rain.Money(1000), "ready", "r1"}},
		"PreviewSplit": {`{"packets":3,"mean":3.33,"deviation":1.25,"smallest":2,"median":3,"largest":5,` +
			`"histogram":[{"from":2,"to":2,"packets":1}]}`,
			func(c *operator.Client) (any, error) {
				return c.PreviewSplit(ctx, rain.SplitSpec{Budget: 10, Packets: 3, Split: rain.Gaussian, Min: 1})
			}, "POST /api/v1/splits/preview", `{"budget":10,"packets":3,"split":"gaussian","min":1,"max":null,` +
				`"amounts":null}`, "", rain.SplitSummary{
				Packets: 3, Mean: 3.33, Deviation: 1.25, Smallest: 2, Median: 3, Largest: 5,
				Histogram: []rain.SplitBin{{From: 2, To: 2, Packets: 1}},
			}},
		"Campaigns": {`{"items":[` + campaignJSON + `],"next_cursor":"n"}`, func(c *operator.Client) (any, error) {
			got, err := c.Campaigns(ctx, page)
			return []any{len(got.Items), got.Next}, err
		}, "GET /api/v1/campaigns?cursor=a+b%26c&limit=7", "", "", []any{1, "n"}},
		"Campaign": {campaignJSON, func(c *operator.Client) (any, error) {
			got, err := c.Campaign(ctx, "c1")
			return got.Revision, err
		}, "GET /api/v1/campaigns/c1", "", "", int64(3)},
		"Pause": {campaignJSON, func(c *operator.Client) (any, error) {
			g, err := c.Pause(ctx, "c1")
			return g.ID,
				err
		}, "POST /api/v1/campaigns/c1/pause", "", "", "c1"},
		"Resume": {campaignJSON, func(c *operator.Client) (any, error) {
			g, err := c.Resume(ctx, "c1")
			return g.ID,
				err
		}, "POST /api/v1/campaigns/c1/resume", "", "", "c1"},
		"Close": {campaignJSON, func(c *operator.Client) (any, error) {
			g,
				err := c.CloseCampaign(ctx, "c1")
			return g.ID, err
		}, "POST /api/v1/campaigns/c1/close", "", "", "c1"},
		"StartRain": {`{"id":"r2","phase":"countdown"}`, func(c *operator.Client) (any, error) {
			spec := rain.DefaultRain()
			spec.StartsInMS = &inThree
			g, err := c.StartRain(ctx, "c1", spec, "k")
			return g.ID, err
		}, "POST /api/v1/campaigns/c1/rains", `{"starts_in_ms":3000,"duration_ms":10000,"drops_per_second":8,` +
			`"fall_ms":4000,"decoy_percent":0,"pacing":"none","odds":1,"beat_ms":1000}`, "k", "r2"},
		"StopRain": {`{"id":"r2","phase":"ended"}`, func(c *operator.Client) (any, error) {
			g, err := c.StopRain(ctx, "c1", "r2")
			return g.Phase, err
		}, "POST /api/v1/campaigns/c1/rains/r2/stop", "", "", rain.PhaseEnded},
		"Stats": {`{"online":3,"taps":9,"won":2,"stock":8,"paid":1,"amount_won":20,"amount_paid":10,` +
			`"amount_left":80,"grabs_per_second":1.5,"waiting":6,"seated":7,` +
			`"outcomes":{"won":2,"empty":7},"tap_p50_ms":1.5,` +
			`"tap_p99_ms":null,"outbox":1,"dead":4}`,
			func(c *operator.Client) (any, error) { return c.Stats(ctx, "c1") }, "GET /api/v1/campaigns/c1/stats", "",
			"",
			operator.Stats{Online: 3, Taps: 9, Won: 2, Stock: 8, Paid: 1, AmountWon: 20, AmountPaid: 10, AmountLeft: 80,
				GrabsPerSecond: 1.5, Waiting: 6, Seated: 7,
				Outcomes: map[string]int64{"won": 2, "empty": 7}, TapP50MS: new(1.5), Outbox: 1, Dead: 4}},
		"Claims": {`{"items":[{"claim":"c1-4","user":"u","packet":"4","amount":7,"at":1,"state":"settled"}]}`,
			func(c *operator.Client) (any, error) {
				return c.Claims(ctx, "c1", operator.Page{})
			}, "GET /api/v1/campaigns/c1/claims", "", "",
			operator.List[operator.Claim]{Items: []operator.Claim{{Claim: "c1-4", User: "u", Packet: "4", Amount: 7,
				At: 1, State: operator.ClaimSettled}}}},
		"Reconciliation": {`{"funded":10,"paid":1,"reclaimed":2,"stock":3,"unsettled":4,"dead":0,"difference":0,` +
			`"balanced":true}`,
			func(c *operator.Client) (any, error) { return c.Reconciliation(ctx, "c1") },
			"GET /api/v1/campaigns/c1/reconciliation", "", "",
			operator.Reconciliation{Funded: 10, Paid: 1, Reclaimed: 2, Stock: 3, Unsettled: 4, Balanced: true}},
		"ReconcileAll": {`{"balanced":false,"difference":5,"checked":3,"unbalanced":1,` +
			`"campaigns":[{"campaign":"c1","difference":5,"balanced":false,"findings":["f"]}],` +
			`"unchecked":[{"campaign":"c2","reason":"r"}],"findings":[],"checked_at":9}`,
			func(c *operator.Client) (any, error) { return c.ReconcileAll(ctx) }, "GET /api/v1/reconciliation", "", "",
			operator.Books{Difference: 5, Checked: 3, Unbalanced: 1, Findings: []string{}, CheckedAt: 9,
				Campaigns: []operator.CampaignBooks{{Campaign: "c1",
					Reconciliation: operator.Reconciliation{Difference: 5, Findings: []string{"f"}}}},
				Unchecked: []operator.CampaignProblem{{Campaign: "c2", Reason: "r"}}}},
		"Fairness": {`{"commitment":"ab","schedule":{"rain":"r1","waves":40,"drops":80}}`,
			func(c *operator.Client) (any, error) { return c.Fairness(ctx, "c1", "r1") },
			"GET /api/v1/campaigns/c1/rains/r1/fairness", "", "",
			operator.Fairness{Commitment: "ab", Schedule: operator.Schedule{Rain: "r1", Waves: 40, Drops: 80}}},
		"User": {`{"user":"张三","balance":88}`, func(c *operator.Client) (any, error) { return c.User(ctx, "张三") },
			"GET /api/v1/users/%E5%BC%A0%E4%B8%89", "", "", operator.User{User: "张三", Balance: 88}},
		"UserClaims": {`{"items":[]}`, func(c *operator.Client) (any,
			error) {
			return c.UserClaims(ctx, "u", operator.Page{})
		},
			"GET /api/v1/users/u/claims", "", "", operator.List[operator.Claim]{Items: []operator.Claim{}}},
		"Me": {`{"user":"u","balance":0}`, func(c *operator.Client) (any, error) { return c.Me(ctx) },
			"GET /api/v1/me", "", "", operator.User{User: "u"}},
		"MyClaims": {`{"items":[]}`, func(c *operator.Client) (any,
			error) {
			return c.MyClaims(ctx, operator.Page{Limit: 1})
		}, "GET /api/v1/me/claims?limit=1", "", "",
			operator.List[operator.Claim]{Items: []operator.Claim{}}},
		"Lobby": {`{"campaign":"c1","name":"Gala","wins_per_user":2,"guests":true,"join":"http://h/"}`,
			func(c *operator.Client) (any, error) { return c.Lobby(ctx) },
			"GET /api/v1/lobby", "", "", operator.Lobby{Campaign: "c1", Name: "Gala", WinsPerUser: 2, Guests: true,
				Join: "http://h/"}},
		"Guest": {`{"user":"guest-1","token":"t","expires_at":9}`,
			func(c *operator.Client) (any, error) { return c.Guest(ctx) },
			"POST /api/v1/guests", "", "", operator.Guest{User: "guest-1", Token: "t", ExpiresAt: 9}},
		"Withdraw": {`{"withdrawal":"w1","user":"u","amount":5,"state":"pending","created_at":7,"balance":3}`,
			func(c *operator.Client) (any, error) {
				return c.Withdraw(ctx, 5, "once")
			}, "POST /api/v1/me/withdrawals", `{"amount":5}`, "once",
			operator.Withdrawal{Withdrawal: "w1", User: "u", Amount: 5, State: operator.WithdrawalPending, CreatedAt: 7,
				Balance: 3}},
		"MyWithdrawals": {`{"items":[]}`, func(c *operator.Client) (any, error) { return c.MyWithdrawals(ctx, page) },
			"GET /api/v1/me/withdrawals?cursor=a+b%26c&limit=7", "", "",
			operator.List[operator.Withdrawal]{Items: []operator.Withdrawal{}}},
		"MyWithdrawal": {`{"withdrawal":"w1","state":"failed","reason":"closed","finished_at":9}`,
			func(c *operator.Client) (any, error) {
				return c.MyWithdrawal(ctx, "w1")
			}, "GET /api/v1/me/withdrawals/w1", "", "", operator.Withdrawal{Withdrawal: "w1",
				State: operator.WithdrawalFailed, Reason: "closed", FinishedAt: 9}},
		"UserWithdrawals": {`{"items":[{"withdrawal":"w1","state":"paid","reference":"b","dead":true,` +
			`"attempts":2,"next_at":8,"last_error":"e"}]}`,
			func(c *operator.Client) (any, error) { return c.UserWithdrawals(ctx, "a/b", operator.Page{}) },
			"GET /api/v1/users/a%2Fb/withdrawals", "", "",
			operator.List[operator.Withdrawal]{Items: []operator.Withdrawal{{
				Withdrawal: "w1", State: operator.WithdrawalPaid, Reference: "b", Dead: true, Attempts: 2, NextAt: 8,
				LastError: "e",
			}}}},
		"Withdrawals": {`{"items":[]}`, func(c *operator.Client) (any,
			error) {
			return c.Withdrawals(ctx, "", operator.Page{})
		},
			"GET /api/v1/withdrawals", "", "", operator.List[operator.Withdrawal]{Items: []operator.Withdrawal{}}},
		"Withdrawals in a state": {`{"items":[]}`, func(c *operator.Client) (any,
			error) {
			return c.Withdrawals(ctx, "pending", operator.Page{Limit: 2})
		},
			"GET /api/v1/withdrawals?limit=2&state=pending", "", "",
			operator.List[operator.Withdrawal]{Items: []operator.Withdrawal{}}},
		"DeadPayouts": {`{"items":[]}`, func(c *operator.Client) (any,
			error) {
			return c.DeadPayouts(ctx, operator.Page{})
		},
			"GET /api/v1/payouts?state=dead", "", "",
			operator.List[operator.DeadLetter]{Items: []operator.DeadLetter{}}},
		"RetryPayout": {`{"claim":"c1-4","state":"failed"}`,
			func(c *operator.Client) (any, error) { return c.RetryPayout(ctx, "c1-4") },
			"POST /api/v1/payouts/c1-4/retry", "", "", operator.Claim{Claim: "c1-4", State: operator.ClaimFailed}},
		"RetryPayouts": {`{"retried":3,"settled":2,"still_dead":1,"need_two":4,"complete":true}`,
			func(c *operator.Client) (any, error) { return c.RetryPayouts(ctx, "c1") },
			"POST /api/v1/payouts/retry", `{"campaign":"c1"}`, "",
			operator.Retried{Retried: 3, Settled: 2, StillDead: 1, NeedTwo: 4, Complete: true}},
		"Audit": {`{"items":[]}`, func(c *operator.Client) (any, error) { return c.Audit(ctx, operator.Page{}) },
			"GET /api/v1/audit", "", "", operator.List[operator.AuditRecord]{Items: []operator.AuditRecord{}}},
		"AuditRoots": {`{"items":[]}`, func(c *operator.Client) (any, error) { return c.AuditRoots(ctx, page) },
			"GET /api/v1/audit/roots?cursor=a+b%26c&limit=7", "", "",
			operator.List[operator.AuditRoot]{Items: []operator.AuditRoot{}}},
		"VerifyAudit": {`{"whole":false,"roots":2,"blocks":3,"rows":9,"faults":1,"findings":["f"]}`,
			func(c *operator.Client) (any, error) {
				return c.VerifyAudit(ctx, "2026-11-22", []operator.AuditRoot{{Day: "2026-11-23", Root: "ab"}})
			}, "POST /api/v1/audit/verify",
			`{"from":"2026-11-22","roots":[{"day":"2026-11-23","at":0,"previous":"","blocks":null,"root":"ab"}]}`, "",
			operator.AuditVerification{Roots: 2, Blocks: 3, Rows: 9, Faults: 1, Findings: []string{"f"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, got := serve(t, http.StatusOK, "application/json", tc.answer)
			answer, err := tc.do(c)
			if err != nil {
				t.Fatal(err)
			}
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
		if r.URL.Query().Get("limit") != "500" {
			t.Errorf("limit of %s", r.URL)
		}
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("cursor")])
	})
	var ids []string
	for one, err := range operator.All(t.Context(), c.Campaigns) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3"}, ids); diff != "" {
		t.Error(diff)
	}

	pages["p2"] = `{"items":[],"next_cursor":"p2"}` // a server that does not get on
	n := 0
	for _, err := range operator.All(t.Context(), c.Campaigns) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d campaigns of a server that does not get on", n)
	}

	delete(pages, "p2")
	var failed error
	for _, err := range operator.All(t.Context(), c.Campaigns) {
		failed = err
	}
	if failed == nil {
		t.Error("a page that cannot be read is not reported")
	}
}
