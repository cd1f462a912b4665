package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestAPIRefusals: invalid input is refused with each field named, and changes nothing.
func TestAPIRefusals(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	c := newAPIClient(t, startNode(t, setting{}.config()))
	c.want(c.call("POST", "/sponsors/acme/deposits", `{"amount":1000,"reference":"r1"}`), 201, "")

	for body, fields := range map[string][]string{
		`{}`: {"name", "sponsor", "budget", "packets"},
		`{"name":"x","sponsor":"acme","budget":99999999999999999999,"packets":1}`:                 {"budget"},
		`{"name":"x","sponsor":"acme","budget":1.5,"packets":1}`:                                  {"budget"},
		`{"name":"x","sponsor":"acme","budget":"5","packets":1}`:                                  {"budget"},
		`{"name":"x","sponsor":"acme","budget":100,"packets":2,"split":"list","amounts":[50,49]}`: {"amounts"},
		`{"name":"x","sponsor":"acme","budget":100,"packets":10,"wins_per_usr":3}`:                {"wins_per_usr"},
	} {
		a := c.call("POST", "/campaigns", body)
		c.want(a, 422, "invalid")
		for _, f := range fields {
			if !a.faults()[f] {
				t.Errorf("%s: field %s is not named: %s", body, f, a.body)
			}
		}
	}
	c.want(c.call("POST", "/campaigns", `{"name":`), 400, "malformed")
	c.want(c.call("POST", "/campaigns", `[]`), 400, "malformed")
	c.want(c.call("POST", "/campaigns", `{"name":"x","sponsor":"nobody","budget":100,"packets":10}`), 404,
		"unknown_sponsor")
	c.want(c.call("POST", "/campaigns", `{"name":"x","sponsor":"acme","budget":1001,"packets":10}`), 409,
		"insufficient_funds")
	c.want(c.call("GET", "/campaigns/nowhere", ""), 404, "unknown_campaign")
	c.want(c.call("GET", "/campaigns/nowhere/stats", ""), 404, "unknown_campaign")
	c.want(c.call("POST", "/campaigns/nowhere/pause", ""), 404, "unknown_campaign")
	c.want(c.call("GET", "/nothing/here", ""), 404, "not_found")
	c.want(c.call("DELETE", "/campaigns", ""), 405, "method_not_allowed")
	c.want(c.call("GET", "/campaigns?limit=0", ""), 422, "invalid")
	c.want(c.call("GET", "/campaigns?cursor=%00", ""), 422, "invalid")
	c.want(c.call("GET", "/me", ""), 401, "unauthorized")
	for body, field := range map[string]string{
		`{"amount":0,"reference":"r"}`: "amount", `{"amount":5}`: "reference",
		`{"amount":-5,"reference":"r"}`:                  "amount",
		`{"amount":9000000000000000000,"reference":"r"}`: "amount",
	} {
		if a := c.call("POST", "/sponsors/acme/deposits", body); a.status != 422 || !a.faults()[field] {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	testenv.Equal(t, c.call("GET", "/sponsors/acme", "").field("balance"), "1000", "refusals have moved money")
	c.want(c.call("GET", "/sponsors?cursor=a/b", ""), 422, "invalid")
	c.token = viewerToken
	c.want(c.call("POST", "/campaigns", `{}`), 403, "forbidden")
	c.want(c.call("GET", "/campaigns", ""), 200, "")
	c.token = "wrong"
	c.want(c.call("GET", "/campaigns", ""), 401, "unauthorized")
}

// TestAPILife takes a campaign through its life over HTTP.
func TestAPILife(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c := newAPIClient(t, n)
	deposit := `{"amount":10000,"reference":"r1"}`
	c.want(c.call("POST", "/sponsors/acme/deposits", deposit), 201, "")
	if a := c.call("POST", "/sponsors/acme/deposits", deposit); a.status != 201 || a.field("balance") != "10000" {
		t.Errorf("the same deposit again: %d %s", a.status, a.body)
	}
	c.want(c.call("POST", "/sponsors/acme/deposits", `{"amount":10001,"reference":"r1"}`), 422, "idempotency_mismatch")

	body := `{"name":"Gala","sponsor":"acme","budget":6000,"packets":100,"wins_per_user":5}`
	made := c.call("POST", "/campaigns", body, "Idempotency-Key", "k1")
	c.want(made, 201, "")
	again := c.call("POST", "/campaigns", body, "Idempotency-Key", "k1")
	if again.status != 201 || !bytes.Equal(bytes.TrimSpace(again.body), bytes.TrimSpace(made.body)) {
		t.Errorf("the same key: %d %s, first %s", again.status, again.body, made.body)
	}
	c.want(c.call("POST", "/campaigns", strings.Replace(body, "6000", "4000", 1), "Idempotency-Key", "k1"), 422,
		"idempotency_mismatch")
	testenv.Equal(t, c.call("GET", "/sponsors/acme", "").field("balance"), "4000", "the sponsor has left")
	id := made.field("id")
	if made.field("state") != "ready" || made.field("split") != "double_mean" || made.field("shards") != "1" {
		t.Errorf("the campaign: %s", made.body)
	}
	if a := c.call("GET", "/campaigns/"+id+"/stats", ""); a.field("stock") != "100" ||
		a.field("amount_left") != "6000" {
		t.Errorf("stats: %s", a.body)
	}

	rain1 := c.call("POST", "/campaigns/"+id+"/rains", `{"starts_in_ms":100,"duration_ms":60000}`, "Idempotency-Key",
		"r1")
	c.want(rain1, 201, "")
	if a := c.call("POST", "/campaigns/"+id+"/rains", `{"starts_in_ms":100,"duration_ms":60000}`, "Idempotency-Key",
		"r1"); a.field("id") != rain1.field("id") {
		t.Errorf("a second rain under one key: %s", a.body)
	}
	c.want(c.call("POST", "/campaigns/"+id+"/rains", ``), 409, "rain_running")
	c.want(c.call("POST", "/campaigns/"+id+"/rains", `{"drops_per_second":401}`), 422, "invalid")
	c.want(c.call("POST", "/campaigns/"+id+"/rains", `{"starts_in_ms":604800001}`), 422, "invalid")
	fairness := "/campaigns/" + id + "/rains/" + rain1.field("id") + "/fairness"
	if a := c.call("GET", fairness, ""); a.field("commitment") != rain1.field("commitment") || a.field("seed") != "" {
		t.Errorf("before the end: %s", a.body)
	}

	p := join(t, n, "dave", id)
	won := p.winOne(t)
	p.await(t, 20*time.Second, "settlement", func() bool { return len(p.settled) == 1 })
	fresh := p.freshDrop(t)
	if a := c.call("POST", "/campaigns/"+id+"/pause", ""); a.status != 200 || a.field("state") != "paused" {
		t.Errorf("paused: %d %s", a.status, a.body)
	}
	testenv.Equal(t, p.answered(t, p.tap(fresh)).Outcome, "not_open", "a tap while paused")
	testenv.Equal(t, c.call("POST", "/campaigns/"+id+"/resume", "").field("state"), "raining", "resumed")
	c.want(c.call("POST", "/campaigns/"+id+"/rains/"+rain1.field("id")+"/stop", ""), 200, "")
	p.await(t, 10*time.Second, "end", func() bool { return ended(p.rains) })
	testenv.Equal(t, len(c.call("GET", fairness, "").field("seed")), 64, "after the end")
	c.want(c.call("GET", "/campaigns/"+id+"/rains/nowhere/fairness", ""), 404, "unknown_rain")

	c.want(c.call("POST", "/campaigns/"+id+"/rebuild", ""), 409, "campaign_alive")
	closed := c.call("POST", "/campaigns/"+id+"/close", "")
	testenv.Equal(t, closed.field("state"), "closed", "closed: %s", closed.body)
	c.want(c.call("POST", "/campaigns/"+id+"/close", ""), 200, "")
	c.want(c.call("POST", "/campaigns/"+id+"/rains", ``), 409, "campaign_closed")
	c.want(c.call("GET", "/lobby", ""), 200, "")
	c.want(c.call("GET", "/campaigns/"+id+"/history", ""), 200, "")
	back := fmt.Sprint(10_000 - int64(won.Amount))
	testenv.Eventually(t, 20*time.Second, "the rest back at the sponsor", func() bool {
		return c.call("GET", "/sponsors/acme", "").field("balance") == back
	})
	rec := c.call("GET", "/campaigns/"+id+"/reconciliation", "")
	if rec.field("balanced") != "true" || rec.field("difference") != "0" ||
		rec.field("paid") != fmt.Sprint(int64(won.Amount)) {
		t.Errorf("the books: %s", rec.body)
	}
	if all := c.call("GET", "/reconciliation", ""); all.field("balanced") != "true" || all.field("checked") != "1" {
		t.Errorf("all books: %s", all.body)
	}
	c.want(c.call("POST", "/payouts/retry", "{"), 400, "malformed")
	c.want(c.call("POST", "/payouts/retry", `{"campaign":"nowhere"}`), 404, "unknown_campaign")
	c.want(c.call("POST", "/payouts/retry", ""), 200, "")
	checkClaims(t, c, id, won.Claim)
}

// checkClaims reads the one claim in every way that there is.
func checkClaims(t *testing.T, c *apiClient, id, claim string) {
	t.Helper()
	for query, field := range map[string]string{
		"state=lost": "state", "packet=x": "packet", "packet=-1": "packet", "packet=007": "packet",
		"packet=99999999999999999999": "packet",
	} {
		if a := c.call("GET", "/campaigns/"+id+"/claims?"+query, ""); a.status != 422 || !a.faults()[field] {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	c.want(c.call("GET", "/campaigns/"+id+"/claims?state=granted&cursor=x", ""), 422, "invalid")
	for _, path := range []string{"/campaigns/" + id + "/claims", "/users/dave/claims"} {
		if a := c.call("GET", path, ""); strings.Count(string(a.body), claim) != 1 ||
			!strings.Contains(string(a.body), `"settled"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	a := c.call("GET", "/campaigns/"+id+"/claims", "", "Accept", "text/csv")
	rows, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][0] != "claim" || rows[1][0] != claim || rows[1][5] != "settled" {
		t.Fatalf("CSV (%v): %s", err, a.body)
	}
	fen, _ := strconv.ParseInt(rows[1][3], 10, 64)
	ms, _ := strconv.ParseInt(rows[1][4], 10, 64)
	at, err := time.Parse(time.RFC3339, rows[1][7])
	testenv.Equal(t, strings.Join(rows[0][6:8], " "), "amount_yuan time", "the columns for people")
	testenv.Equal(t, rows[1][6], rain.Money(fen).String(), "the amount in yuan")
	testenv.Equal(t, at.UnixMilli(), ms, "the time (%v)", err)
	if a := c.call("GET", "/audit?limit=500", ""); !strings.Contains(string(a.body), "campaign.close") {
		t.Errorf("audit: %s", a.body)
	}
	c.token = token(t, "dave")
	testenv.Equal(t, strings.Count(string(c.call("GET", "/me/claims", "").body), claim), 1, "my claims")
	if a := c.call("GET", "/me", ""); a.field("user") != "dave" || a.field("balance") == "0" {
		t.Errorf("me: %s", a.body)
	}
	c.token = token(t, "poor")
	testenv.Equal(t, c.call("GET", "/me", "").field("balance"), "0", "me without money")
}
