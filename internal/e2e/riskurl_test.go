package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/operator"
	"redrain/internal/signed"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/rain"
	"redrain/room"
	"redrain/server"
)

// riskSystem is an operator's own risk system.
type riskSystem struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	verdict map[string]string // by moment and player, by moment; "": allow. "silent": no answer
	asked   []string          // moment and player
}

func newRiskSystem(t *testing.T) *riskSystem {
	t.Helper()
	rs := &riskSystem{t: t, verdict: map[string]string{}}
	s := httptest.NewServer(rs)
	t.Cleanup(s.Close)
	rs.url = s.URL
	return rs
}

func (rs *riskSystem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone
	}
	key, err := signed.ParseSecret(webhooktest.Secret)
	var q struct {
		ID     string `json:"id"`
		Moment string `json:"moment"`
		User   string `json:"user"`
	}
	err = errors.Join(err, signed.Verify(key, r.Header, body, time.Now()), json.Unmarshal(body, &q))
	if err != nil || q.ID == "" {
		rs.t.Errorf("%s: %v", body, err)
	}
	rs.mu.Lock()
	rs.asked = append(rs.asked, q.Moment+" "+q.User)
	said := rs.verdict[q.Moment]
	if one, found := rs.verdict[q.Moment+" "+q.User]; found {
		said = one
	}
	rs.mu.Unlock()
	if said == "silent" {
		<-r.Context().Done()
		return
	}
	if said == "" {
		said = "allow"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"verdict":%q,"score":42,"reasons":["seen before"]}`, said)
}

func (rs *riskSystem) says(what, verdict string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.verdict[what] = verdict
}

func (rs *riskSystem) wasAsked(what string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Contains(rs.asked, what)
}

// config is that of a node that asks it.
func (rs *riskSystem) config() server.Config {
	cfg := setting{}.config()
	cfg.Risk, cfg.RiskURL, cfg.RiskSecret, cfg.RiskTimeout = server.RiskHold, rs.url, webhooktest.Secret, 3*time.Second
	return cfg
}

// containsAll tells whether a text has all parts.
func containsAll(parts ...string) func(string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}
}

// closeOf is how a hello ends: the close code, 0 for a welcome.
func closeOf(t *testing.T, n *node, user, campaign string) int {
	t.Helper()
	_, err := hello(t, n, user, campaign)
	if end := (*websocket.CloseError)(nil); errors.As(err, &end) {
		return end.Code
	}
	return 0
}

// TestRiskURL: guests and players whom the operator's own system denies stay outside; what one wins of whom it says
// hold is kept apart, with its reasons; a withdrawal that it holds is paid when an operator has released it, and one
// that it denies never; and the books balance.
func TestRiskURL(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	rs := newRiskSystem(t)
	bank := webhooktest.New()
	at := httptest.NewServer(bank)
	t.Cleanup(at.Close)
	cfg := rs.config()
	cfg.Provider, cfg.ProviderURL, cfg.ProviderSecret = server.ProviderHTTP, at.URL, webhooktest.Secret
	n := startNode(t, cfg)
	api := newAPIClient(t, n)

	api.want(api.call("POST", "/guests", ""), http.StatusCreated, "")
	rs.says("guest", "deny")
	api.want(api.call("POST", "/guests", ""), http.StatusForbidden, "denied")

	earn(t, n, "alice", "mallory")
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "held", 1000, 10), "")
	must(t, err)
	long := shortRain(200)
	long.DurationMS, long.FallMS = 600_000, 20_000
	_, err = n.client.StartRain(within(t, 10*time.Second), c.ID, long, "")
	must(t, err)
	rs.says("hello barred", "deny")
	rs.says("hello odd", "hold")
	for range 2 { // the second time it is on record
		if code := closeOf(t, n, "barred", c.ID); code != room.CodeSentAway {
			t.Errorf("whom it denies is closed with %d", code)
		}
	}
	odd := join(t, n, "odd", c.ID)
	if r := odd.answered(t, odd.tap(odd.aDrop(t))); r.Outcome != "won" {
		t.Fatalf("%+v", r)
	}
	var held operator.HeldWin
	testenv.Eventually(t, time.Minute, "what odd has won is held", func() bool {
		list, err := n.client.HeldWins(within(t, 10*time.Second), operator.Page{})
		if err != nil || len(list.Items) != 1 {
			return false
		}
		held = list.Items[0]
		return true
	})
	if held.User != "odd" || held.Score != 42 || len(held.Reasons) != 1 || held.Reasons[0].Rule != "risk_url" ||
		held.Reasons[0].Sentence != "seen before" {
		t.Errorf("%+v", held)
	}

	rs.says("withdrawal alice", "hold")
	rs.says("withdrawal mallory", "deny")
	api.token = token(t, "mallory")
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`), http.StatusForbidden, "denied")
	api.token = token(t, "alice")
	first := api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k")
	api.want(first, http.StatusCreated, "")
	if first.field("state") != "pending" || first.field("stage") != "held" {
		t.Errorf("%s", first.body)
	}
	rs.says("withdrawal alice", "deny") // about one that was made already it is not asked
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k"), http.StatusCreated, "")
	api.token = operatorToken
	id := first.field("withdrawal")
	a := api.call("GET", "/withdrawals/"+id, "")
	api.want(a, http.StatusOK, "")
	if !containsAll("risk-url", "held: seen before")(string(a.body)) {
		t.Errorf("%s", a.body)
	}
	if tries := bank.Tries(id); tries != 0 {
		t.Errorf("the bank was asked %d times for what is held", tries)
	}
	api.want(api.call("POST", "/withdrawals/"+id+"/release", `{"reason":"called her"}`), http.StatusOK, "")
	awaitWithdrawal(t, n, "alice", inState("paid"))
	if paid := bank.Paid(); len(paid) != 1 || paid[id] != rain.Money(300) {
		t.Errorf("paid %v", paid)
	}
	if m, err := n.client.User(within(t, 10*time.Second), "mallory"); err != nil || m.Balance != 1000 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := n.client.DecideHeld(within(t, 10*time.Second), "release", []string{held.Claim}, "known"); err != nil {
		t.Error(err)
	}
	wantBooks(t, n, c.ID, "after all that", 0)
}

// TestRiskURLDoesNotAnswer: with --risk-default deny nobody comes in meanwhile, and everybody may come back; nothing is
// on record about them.
func TestRiskURLDoesNotAnswer(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	rs := newRiskSystem(t)
	cfg := rs.config()
	cfg.RiskTimeout, cfg.RiskDefault = time.Second, "deny"
	n := startNode(t, cfg)
	api := newAPIClient(t, n)
	earn(t, n, "alice")
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "c", 100, 1), "")
	must(t, err)
	for _, moment := range []string{"guest", "hello", "withdrawal"} {
		rs.says(moment, "silent")
	}
	for range 3 {
		if code := closeOf(t, n, "alice", c.ID); code != room.CodeUnavailable {
			t.Errorf("closed with %d", code)
		}
	}
	api.want(api.call("POST", "/guests", ""), http.StatusServiceUnavailable, "unavailable")
	alarms := api.call("GET", "/alarms", "")
	if !containsAll(`"risk_url"`, "--risk-default deny")(string(alarms.body)) {
		t.Errorf("alarms: %s", alarms.body)
	}
	api.token = token(t, "alice")
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k"),
		http.StatusServiceUnavailable, "unavailable")
	for _, moment := range []string{"guest", "hello", "withdrawal"} {
		rs.says(moment, "allow")
	}
	join(t, n, "alice", c.ID)
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k"), http.StatusCreated, "")
	api.want(api.call("POST", "/guests", ""), http.StatusCreated, "")
}

// TestRiskURLHasTheLastWord: a program that our rules find is paid where the system allows it.
func TestRiskURLHasTheLastWord(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Light)
	rs := newRiskSystem(t)
	cfg := rs.config()
	cfg.RiskLimits.FastMS = 60_000 // everybody is a program
	n := startNode(t, cfg)
	spec := fund(t, n, "c", 1000, 100)
	spec.WinsPerUser = 50
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	must(t, err)
	long := shortRain(200)
	long.DurationMS, long.FallMS, long.DropsPerSecond = 600_000, 20_000, 20
	_, err = n.client.StartRain(within(t, 10*time.Second), c.ID, long, "")
	must(t, err)
	rs.says("hold bad", "deny")
	good, bad := join(t, n, "good", c.ID), join(t, n, "bad", c.ID)
	for _, p := range []*player{good, bad} {
		testenv.Eventually(t, time.Minute, "the rules speak against "+p.user, func() bool {
			p.tap(p.aDrop(t))
			return rs.wasAsked("hold " + p.user)
		})
	}
	wantClose(t, bad, room.CodeSentAway)
	won := len(good.wins())
	testenv.Eventually(t, time.Minute, "good goes on winning", func() bool {
		good.tap(good.aDrop(t))
		return len(good.wins()) > won+3
	})
	held, err := n.client.HeldWins(within(t, 10*time.Second), operator.Page{})
	must(t, err)
	for _, h := range held.Items {
		if h.User == "good" {
			t.Errorf("%+v", h)
		}
	}
}
