package e2e

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/rain"
)

// earn lets players win a packet of 1000 each.
func earn(t *testing.T, n *node, users ...string) {
	t.Helper()
	spec := fund(t, n, "earn", rain.Money(len(users))*1000, len(users))
	spec.Split = rain.Even
	c := createCampaign(t, n.client, spec)
	startRain(t, n.client, c.ID, longRain(16))
	for _, user := range users {
		p := join(t, n, user, c.ID)
		p.winOne(t)
		p.await(t, 20*time.Second, "settlement", func() bool { return len(p.settled) == 1 })
		p.hangUp()
	}
}

// asPlayer is a client with a player's token.
func asPlayer(t *testing.T, n *node, user string) *client.Client {
	t.Helper()
	return n.as(t, token(t, user))
}

// awaitWithdrawal waits until an operator sees a player's only withdrawal as it should be.
func awaitWithdrawal(t *testing.T, n *node, user string, is func(client.Withdrawal) bool) client.Withdrawal {
	t.Helper()
	var w client.Withdrawal
	testenv.Eventually(t, time.Minute, "the withdrawal of "+user, func() bool {
		list, err := client.Get[client.List[client.Withdrawal]](within(t, 10*time.Second), n.client, "withdrawals")
		own := slices.DeleteFunc(list.Items, func(w client.Withdrawal) bool { return w.User != user })
		if err != nil || len(own) != 1 {
			return false
		}
		w = own[0]
		return is(w)
	})
	return w
}

func inState(state string) func(client.Withdrawal) bool {
	return func(w client.Withdrawal) bool { return w.State == state }
}

// TestWithdrawals takes money out over HTTP, through a receiver that pays, refuses, or is not there.
func TestWithdrawals(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	receiver := webhooktest.New()
	var repaired atomic.Bool
	receiver.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
		switch {
		case r.User == "closed":
			return webhooktest.Refuse
		case r.User == "unlucky" && !repaired.Load():
			return webhooktest.Missing
		}
		return webhooktest.Pay
	}
	bank := httptest.NewServer(receiver)
	t.Cleanup(bank.Close)
	cfg := setting{}.config()
	cfg.Provider, cfg.ProviderURL, cfg.ProviderSecret, cfg.PayoutAttempts = "http", bank.URL, webhooktest.Secret, 1
	n := startNode(t, cfg)
	c := newAPIClient(t, n)
	earn(t, n, "alice", "bob", "closed", "unlucky")
	room := createCampaign(t, n.client, fund(t, n, "elsewhere", 100, 1))
	hearing := map[string]*player{} // in a room that has nothing to do with their money
	for _, user := range []string{"alice", "closed", "unlucky"} {
		hearing[user] = join(t, n, user, room.ID)
	}

	made := map[string]answer{}
	for _, user := range []string{"alice", "bob"} { // with the same key and body
		c.token = token(t, user)
		made[user] = c.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key", "k1")
		c.want(made[user], 201, "")
		if made[user].field("user") != user || made[user].field("amount") != "300" ||
			made[user].field("state") != "pending" || made[user].field("balance") != "700" {
			t.Errorf("%s: %s", user, made[user].body)
		}
		if again := c.call("POST", "/me/withdrawals", `{"amount":300}`, "Idempotency-Key",
			"k1"); !bytes.Equal(again.body, made[user].body) {
			t.Errorf("%s again: %s", user, again.body)
		}
		c.want(c.call("POST", "/me/withdrawals", `{"amount":301}`, "Idempotency-Key", "k1"), 422,
			"idempotency_mismatch")
		testenv.Equal(t, c.call("GET", "/me", "").field("balance"), "700", "%s", user)
	}
	if made["alice"].field("withdrawal") == made["bob"].field("withdrawal") {
		t.Error("two players' requests under one key are one withdrawal")
	}
	c.token = token(t, "alice")
	c.want(c.call("GET", "/me/withdrawals/"+made["bob"].field("withdrawal"), ""), 404, "unknown_withdrawal")
	c.want(c.call("POST", "/me/withdrawals", `{"amount":701}`), 409, "insufficient_funds")

	c.token = token(t, "closed")
	c.want(c.call("POST", "/me/withdrawals", `{"amount":1000}`), 201, "")
	c.token = token(t, "unlucky")
	c.want(c.call("POST", "/me/withdrawals", `{"amount":400}`), 201, "")
	c.token = operatorToken
	for user, state := range map[string]string{"alice": "paid", "bob": "paid", "closed": "failed"} {
		awaitWithdrawal(t, n, user, inState(state))
	}
	dead := awaitWithdrawal(t, n, "unlucky", func(w client.Withdrawal) bool { return w.Dead })
	if dead.State != "pending" || dead.Attempts != 1 || !strings.Contains(dead.LastError, "status 404") ||
		dead.NextAt != 0 {
		t.Errorf("%+v", dead)
	}
	// A connected player gets a notice of the end, with the new balance. A withdrawal that waits for approval has
	// no notice.
	hearing["alice"].awaitMoney(t, client.WithdrawalPaid, 300, 700)
	if m := hearing["closed"].awaitMoney(t, client.WithdrawalFailed, 1000, 1000); m.Withdrawal.Reason == "" ||
		m.Withdrawal.FinishedAt == 0 {
		t.Errorf("a refusal: %+v", m)
	}
	hearing["unlucky"].mu.Lock()
	testenv.Equal(t, hearing["unlucky"].money, nil, "a notice of a withdrawal that has not ended")
	hearing["unlucky"].mu.Unlock()
	letters := c.call("GET", "/payouts?state=dead", "")
	if !strings.Contains(string(letters.body), `"claim":"`+dead.ID+`"`) ||
		!strings.Contains(string(letters.body), `"kind":"withdrawal"`) {
		t.Errorf("dead letters: %s", letters.body)
	}
	repaired.Store(true)
	if a := c.call("POST", "/payouts/"+dead.ID+"/retry", ""); a.status != 200 || a.field("state") != "failed" ||
		a.field("user") != "unlucky" || a.field("amount") != "400" {
		t.Errorf("retried: %d %s", a.status, a.body)
	}
	awaitWithdrawal(t, n, "unlucky", inState("paid"))
	hearing["unlucky"].awaitMoney(t, client.WithdrawalPaid, 400, 600)
	c.want(c.call("POST", "/payouts/"+dead.ID+"/retry", ""), 404, "unknown_claim")
	if a := c.call("GET", "/audit", ""); !strings.Contains(string(a.body), "claim:"+dead.ID) {
		t.Errorf("audit: %s", a.body)
	}

	for user, want := range map[string]rain.Money{"alice": 700, "bob": 700, "closed": 1000, "unlucky": 600} {
		testenv.Equal(t, balanceOf(t, n, user), want, "balance of %s", user)
	}
	testenv.Equal(t, strings.Count(string(c.call("GET", "/withdrawals?state=paid", "").body), `"withdrawal":`), 3,
		"paid withdrawals")
	paid := receiver.Paid()
	if len(paid) != 3 || paid[made["alice"].field("withdrawal")] != 300 ||
		paid[made["bob"].field("withdrawal")] != 300 || paid[dead.ID] != 400 {
		t.Errorf("paid %v", paid)
	}
	testenv.Equal(t, receiver.Faults(), nil, "the receiver complains")
}

// awaitMoney waits for the news that the player's only withdrawal has ended.
func (p *player) awaitMoney(t *testing.T, state string, amount, balance rain.Money) wire.WithdrawalChange {
	t.Helper()
	p.await(t, 20*time.Second, "news of the withdrawal", func() bool { return len(p.money) > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.money[0]
	if m.Withdrawal.State != state || m.Withdrawal.Amount != amount || m.Withdrawal.User != p.user ||
		m.Balance != balance {
		t.Errorf("%s received %+v, want %s, %d, with %d left", p.user, m, state, amount, balance)
	}
	return m
}

// TestKillNineInTheMiddleOfAPayment: the process dies before the provider is asked, and after it has paid, before that
// is noted. Another process asks again under the same key, and the player's repeated request finds the same withdrawal.
func TestKillNineInTheMiddleOfAPayment(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for point, tries := range map[string]int{"withdraw.before_pay": 1, "withdraw.after_pay": 2} {
		t.Run(point, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			receiver := webhooktest.New()
			bank := httptest.NewServer(receiver)
			t.Cleanup(bank.Close)
			provider := []string{
				"REDRAIN_PROVIDER=http", "REDRAIN_PROVIDER_URL=" + bank.URL,
				"REDRAIN_PROVIDER_SECRET=" + webhooktest.Secret, "REDRAIN_PROVIDER_TIMEOUT=1s",
			}
			s := realSetting(t)
			doomed := startProcess(t, s, append(provider, "REDRAIN_FAULT_AT="+point)...)
			earn(t, doomed.node, "alice")
			// The answer may be lost with the process.
			first, lost := asPlayer(t, doomed.node, "alice").Withdraw(within(t, 10*time.Second), 600, "k1")
			doomed.awaitDeath(t, 10*time.Second)

			heir := startProcess(t, s, provider...)
			var again openapi.Withdrawn
			// for a minute the first counts as being worked on
			testenv.Eventually(t, 2*time.Minute, "the request sent again", func() bool {
				var err error
				again, err = asPlayer(t, heir.node, "alice").Withdraw(within(t, 10*time.Second), 600, "k1")
				return err == nil
			})
			if lost == nil && again.ID != first.ID {
				t.Errorf("%+v, and then %+v", first, again)
			}
			w := awaitWithdrawal(t, heir.node, "alice", inState(client.WithdrawalPaid))
			if paid := receiver.Paid(); len(paid) != 1 || paid[w.ID] != 600 ||
				receiver.Tries(w.ID) != tries {
				t.Errorf("paid %v in %d tries, want %s in %d", paid, receiver.Tries(w.ID), w.ID, tries)
			}
			testenv.Equal(t, testenv.Got(client.Get[openapi.Balance](within(t, 10*time.Second), heir.client,
				"users", "alice")).Must(t).Balance, 400,
				"alice has")
			testenv.Equal(t, receiver.Faults(), nil, "the receiver complains")
		})
	}
}
