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

// riskSystem is an operator's own risk system. It allows what says does not name, by moment or by moment and player.
func riskSystem(t *testing.T) (url string, says func(what, verdict string)) {
	t.Helper()
	key := testenv.Got(signed.ParseSecret(webhooktest.Secret)).Must(t)
	var verdicts sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender has gone
		}
		var q struct {
			Moment string `json:"moment"`
			User   string `json:"user"`
		}
		testenv.WantErr(t, errors.Join(signed.Verify(key, r.Header, body, time.Now()), json.Unmarshal(body, &q)), nil)
		verdict := "allow"
		for _, what := range []string{q.Moment, q.Moment + " " + q.User} {
			if said, found := verdicts.Load(what); found {
				verdict, _ = said.(string)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"verdict":%q,"score":42,"reasons":["seen before"]}`, verdict)
	}))
	t.Cleanup(s.Close)
	return s.URL, func(what, verdict string) { verdicts.Store(what, verdict) }
}

// TestRiskURL: guests and players whom the operator's own system denies stay outside. A win of a player on hold is kept
// apart, with its reasons. A held withdrawal is paid after an operator has released it, a denied one never; and the
// books balance.
func TestRiskURL(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	url, says := riskSystem(t)
	bank := webhooktest.New()
	at := httptest.NewServer(bank)
	t.Cleanup(at.Close)
	cfg := setting{}.config()
	cfg.Risk, cfg.RiskURL, cfg.RiskSecret, cfg.RiskTimeout = config.RiskHold, url, webhooktest.Secret, 3*time.Second
	cfg.Provider, cfg.ProviderURL, cfg.ProviderSecret = config.ProviderHTTP, at.URL, webhooktest.Secret
	n := startNode(t, cfg)
	api := newAPIClient(t, n)

	api.want(api.call("POST", "/guests", ""), http.StatusCreated, "")
	says("guest", "deny")
	api.want(api.call("POST", "/guests", ""), http.StatusForbidden, "denied")

	earn(t, n, "alice", "mallory")
	c := createCampaign(t, n.client, fund(t, n, "held", 1000, 10))
	startRain(t, n.client, c.ID, longRain(16))
	says("hello barred", "deny")
	says("hello odd", "hold")
	for range 2 { // the second time it is on record
		testenv.Equal(t, closeOf(t, n, "barred", c.ID), room.CodeSentAway, "whom it denies is closed with")
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

	says("withdrawal alice", "hold")
	says("withdrawal mallory", "deny")
	api.token = token(t, "mallory")
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`), http.StatusForbidden, "denied")
	api.token = token(t, "alice")
	first := api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k")
	api.want(first, http.StatusCreated, "")
	if first.field("state") != "pending" || first.field("stage") != "held" {
		t.Errorf("%s", first.body)
	}
	says("withdrawal alice", "deny") // about one that was made already it is not asked
	api.want(api.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k"), http.StatusCreated, "")
	api.token = operatorToken
	id := first.field("withdrawal")
	a := api.call("GET", "/withdrawals/"+id, "")
	api.want(a, http.StatusOK, "")
	if said := string(a.body); !strings.Contains(said, "risk-url") || !strings.Contains(said, "held: seen before") {
		t.Errorf("%s", a.body)
	}
	testenv.Equal(t, bank.Tries(id), 0, "how often the bank was asked for what is held")
	api.want(api.call("POST", "/withdrawals/"+id+"/release", `{"reason":"called her"}`), http.StatusOK, "")
	awaitWithdrawal(t, n, "alice", inState("paid"))
	if paid := bank.Paid(); len(paid) != 1 || paid[id] != rain.Money(300) {
		t.Errorf("paid %v", paid)
	}
	testenv.Equal(t, balanceOf(t, n, "mallory"), 1000, "balance of mallory")
	testenv.WantErr(t, testenv.Err(n.client.DecideHeld(within(t, 10*time.Second), "release", []string{held.Claim},
		"known")), nil)
	wantBooks(t, n, c.ID, "after all that", 0)
}
