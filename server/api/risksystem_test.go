package api

import (
	"context"
	"net/http"
	"testing"

	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/risk"
)

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
	a := New(Options{
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
