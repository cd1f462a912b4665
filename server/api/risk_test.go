package api

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/risk"
)

// TestHeldWinsOverHTTP: a person with the right decides once, with a reason. A person can admit a player whom the rules
// deny, even without a held win.
func TestHeldWinsOverHTTP(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	l := paytest.Node(t, b)
	b.OpenCampaign(t, "c", rain.Spec{Budget: 40, Packets: 4, WinsPerUser: 9})
	b.HoldWins()
	for _, user := range []string{"bot", "idle"} {
		_, err := l.Risk.Give(t.Context(), ledger.ByRules, standing.Verdict{User: user, Act: standing.Deny, Score: 120,
			Reasons: standing.EncodeReasons([]standing.Reason{{Rule: "fast_hands", Score: 120, Sentence: "too fast"}})})
		testenv.Must(t, err)
	}
	b.MustPost(t, paytest.Entry("c", int(b.Clock.Now()), paytest.Win("bot", 0, 10), paytest.Win("bot", 1, 10)))
	judged := 0
	ask := riskDesk(t, b, l, paytest.Quiet, func() { judged++ })
	ask("viewer", "GET", "/risk/held?limit=1", "", http.StatusOK, `"claim":"c-0"`, `"verdict":"deny"`, "too fast",
		"next_cursor")
	ask("viewer", "GET", "/risk/held?state=x", "", http.StatusUnprocessableEntity)
	ask("viewer", "POST", "/risk/release", `{"claims":["c-0"],"reason":"x"}`, http.StatusForbidden)
	for _, body := range []string{`{"claims":["c-0"]}`, `{"reason":"x"}`, `{"claims":["c-0"],"reason":" "}`,
		`{"claims":["c-0"],"reason":"a\u202eb"}`} {
		ask("cashier", "POST", "/risk/release", body, http.StatusUnprocessableEntity)
	}
	ask("cashier", "POST", "/risk/confirm", `{"users":["idle"],"reason":"x"}`, http.StatusUnprocessableEntity)
	ask("cashier", "POST", "/risk/release", `{"users":["a\u0000"],"reason":"x"}`, http.StatusUnprocessableEntity)
	ask("cashier", "POST", "/risk/confirm", `{"claims":["c-1","none"],"reason":"a bot"}`, http.StatusOK,
		`"state":"confirmed"`)
	said := func(user string, want standing.VerdictAct, by string) {
		t.Helper()
		if v, _, err := l.Risk.Verdict(t.Context(), user); err != nil || v.Act != want || v.By != by {
			t.Errorf("of %s is said %+v, %v", user, v, err)
		}
	}
	said("idle", standing.Deny, ledger.ByRules)
	ask("cashier", "POST", "/risk/release", `{"users":["idle"],"reason":"called them"}`, http.StatusOK, `"items":[]`)
	said("idle", standing.Allow, "operator:cashier")
	ask("cashier", "POST", "/risk/release", `{"claims":["c-0","c-1"],"reason":"sorry"}`, http.StatusOK,
		`"state":"released"`, `"state":"confirmed"`)
	said("bot", standing.Allow, "operator:cashier")
	ask("viewer", "GET", "/users/bot", "", http.StatusOK, `"balance":10`, `"name":"Name of bot"`)
	if judged < 3 {
		t.Errorf("the nodes received %d decisions", judged)
	}
	b.CheckBooks(t)
}

// riskDesk serves the wins that are held, and asks for them.
func riskDesk(t *testing.T, b *paytest.Books, l *ledger.Ledger, log *slog.Logger, judged func()) func(who, method, path,
	body string, status int, want ...string) {
	t.Helper()
	a := newAPI(Options{Held: l.Risk, Sanctions: l.Sanctions, Claims: l.Claims, Operators: testStaff,
		Players: onePlayer{}, Connections: noConnections{},
		Audit: &auditNotes{}, Notifier: &desk{}, Clock: b.Clock.Now, Log: log,
		Name:   func(_ context.Context, user string) string { return "Name of " + user },
		Judged: judged})
	return func(who, method, path, body string, status int, want ...string) {
		t.Helper()
		wantAnswer(t, ask(a, who, method, path, body), status, want...)
	}
}

// noConnections has no connection of any player.
type noConnections struct{}

func (noConnections) Of(context.Context, string) ([]store.Connection, error) { return nil, nil }

// settlingClaims books a win after each look at a balance.
type settlingClaims struct {
	claimList
	settle func()
}

func (c settlingClaims) UserBalance(ctx context.Context, user string) (rain.Money, error) {
	b, err := c.claimList.UserBalance(ctx, user)
	c.settle()
	return b, err
}

// denying is a risk system that lets no money out.
type denying struct{ asked int }

func (*denying) Guest(context.Context, risk.Caller) error { return nil }

func (d *denying) Withdrawal(context.Context, risk.Caller, risk.Money) (string, error) {
	d.asked++
	return "", standing.ErrDenied
}

// Money that was not there when the risk system would have been asked does not leave unasked because it has come since.
func TestNoMoneyLeavesUnasked(t *testing.T) {
	b := paytest.OnSQLite(t)
	b.OpenCampaign(t, "c", rain.Spec{Budget: 40, Packets: 4, WinsPerUser: 9})
	win := func(packet int) {
		b.MustPost(t, paytest.Entry("c", int(b.Clock.Now())+packet, paytest.Win("u1", packet, 10)))
	}
	win(0)
	l, packet, system := paytest.Node(t, b), 0, &denying{}
	a := newAPI(Options{
		Withdrawals: b.Withdrawals, Approvals: b.Approvals, Answers: &desk{}, Players: onePlayer{},
		Audit: &auditNotes{}, Claims: settlingClaims{l.Claims, func() { packet++; win(packet) }},
		MayPlay:    func(context.Context, *rain.Campaign, string, string) error { return nil },
		RiskSystem: system, WakePayer: func() {}, Operators: testStaff, Log: paytest.Quiet,
	})
	for asked, want := range []int{http.StatusConflict, http.StatusForbidden} { // 10 of 20, and then 20
		w := ask(a, "player", "POST", "/me/withdrawals", `{"amount":20}`)
		if w.Code != want || system.asked != asked {
			t.Errorf("%d %s, asked %d times", w.Code, w.Body, system.asked)
		}
	}
}
