package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/signed"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/rain"
	"redrain/room"
	"redrain/server/config"
)

// riskSystem is an operator's own risk system.
type riskSystem struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	verdict map[string]string // by moment and player, by moment; "": allow
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
	said := rs.verdict[q.Moment]
	if one, found := rs.verdict[q.Moment+" "+q.User]; found {
		said = one
	}
	rs.mu.Unlock()
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

// config is that of a node that asks it.
func (rs *riskSystem) config() config.Config {
	cfg := setting{}.config()
	cfg.Risk, cfg.RiskURL, cfg.RiskSecret, cfg.RiskTimeout = config.RiskHold, rs.url, webhooktest.Secret, 3*time.Second
	return cfg
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
	cfg.Provider, cfg.ProviderURL, cfg.ProviderSecret = config.ProviderHTTP, at.URL, webhooktest.Secret
	n := startNode(t, cfg)
	api := newAPIClient(t, n)

	api.want(api.call("POST", "/guests", ""), http.StatusCreated, "")
	rs.says("guest", "deny")
	api.want(api.call("POST", "/guests", ""), http.StatusForbidden, "denied")

	earn(t, n, "alice", "mallory")
	c := createCampaign(t, n.client, fund(t, n, "held", 1000, 10))
	startRain(t, n.client, c.ID, longRain(16))
	rs.says("hello barred", "deny")
	rs.says("hello odd", "hold")
	for range 2 { // the second time it is on record
		if code := closeOf(t, n, "barred", c.ID); code != room.CodeSentAway {
			t.Errorf("whom it denies is closed with %d", code)
		}
	}
	odd := join(t, n, "odd", c.ID)
	odd.winOne(t)
	var held client.HeldWin
	testenv.Eventually(t, time.Minute, "what odd has won is held", func() bool {
		list, err := n.client.HeldWins(within(t, 10*time.Second), client.Page{})
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
	if said := string(a.body); !strings.Contains(said, "risk-url") || !strings.Contains(said, "held: seen before") {
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
