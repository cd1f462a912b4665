package providertest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// Notification is a notification of a receiver.
type Notification struct {
	Header http.Header
	Body   []byte
}

// Trouble happens while two withdrawals are paid.
type Trouble struct {
	Name  string
	Begin func(s Sandbox)        // before the first try; may be nil
	Round func(s Sandbox, n int) // in each round, from 0; may be nil
}

// Troubles returns the troubles of every receiver: each fault of two requests, and those of notifications.
func Troubles() []Trouble {
	list := []Trouble{{Name: "none"}}
	for _, f := range Faults() {
		list = append(list, Trouble{Name: string(f), Begin: func(s Sandbox) { s.Breaker.Break(f, 2) }})
	}
	return list
}

// RunTroubles pays two withdrawals through a payer for each trouble. In the end both are paid once, by the receiver's
// books and by the ledger's. Each notification comes three times, the last time late. No other one is accepted. open
// makes a sandbox whose clock is that of the books.
func RunTroubles(t *testing.T, open func(t *testing.T, b *paytest.Books) Sandbox, more ...Trouble) {
	t.Helper()
	for _, trouble := range append(Troubles(), more...) {
		t.Run(trouble.Name, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			newTroubled(t, b, open(t, b)).run(trouble)
			b.CheckBooks(t)
		})
	}
}

// troubled is the world of one trouble.
type troubled struct {
	t     *testing.T
	b     *paytest.Books
	s     Sandbox
	from  withdraw.Provider
	payer *withdraw.Payer
	heard []Notification
}

// players are the payers' players by withdrawal.
var players = map[string]string{"k1": "ann", "k2": "bob"}

func newTroubled(t *testing.T, b *paytest.Books, s Sandbox) *troubled {
	t.Helper()
	w := &troubled{t: t, b: b, s: s, from: s.New()}
	payees := paytest.Node(t, b).Payees
	for key, user := range players {
		b.Rich(t, user, 250)
		testenv.Must(t, payees.Link(t.Context(), user, s.Claim(user), 1))
		testenv.Must(t, paytest.Err3(b.PaidTo(s.PayeeKind).Withdraw(t.Context(), key, user, 250)))
	}
	return w
}

func (w *troubled) run(trouble Trouble) {
	w.t.Helper()
	if trouble.Begin != nil {
		trouble.Begin(w.s)
	}
	w.payer = withdraw.NewPayer(w.b.Withdrawals, w.from, withdraw.PayerOptions{Attempts: 1000, Timeout: time.Second,
		Clock: w.b.Clock.Now, Log: paytest.Quiet})
	stop := testenv.Run(w.t, w.payer.Run)
	n := 0
	testenv.Eventually(w.t, patience, "both withdrawals are paid", func() bool {
		if trouble.Round != nil {
			trouble.Round(w.s, n)
		}
		n++
		return w.round()
	})
	stop()
	for _, late := range w.heard {
		w.deliver(late)
	}
	w.refuseForged()
	made := map[string]rain.Money{}
	for key := range players {
		made[key] = 250
		w.b.WantWithdrawal(w.t, key, ledger.WithdrawalPaid, w.attempts(key))
	}
	testenv.Must(w.t, w.s.wantMade(made))
}

func (w *troubled) attempts(key string) int {
	return testenv.Got(w.b.Withdrawal(context.Background(), key)).Must(w.t).Attempts
}

// round lets the receiver and the players act, and skips delays. It reports whether both withdrawals have ended.
func (w *troubled) round() bool {
	w.t.Helper()
	w.s.Go()
	for _, n := range w.s.Notifications() {
		w.heard = append(w.heard, n)
		w.deliver(n)
		w.deliver(n)
	}
	ended := true
	for key := range players {
		if w.s.Confirm != nil {
			w.s.Confirm(key)
		}
		is := testenv.Got(w.b.Withdrawal(context.Background(), key)).Must(w.t)
		ended = ended && !is.State.Open()
		if wait := is.NextAt - w.b.Clock.Load(); is.State.Open() && wait > 0 && wait <= time.Hour.Milliseconds() {
			w.b.Clock.Add(wait)
		}
	}
	w.payer.Wake()
	return ended
}

// deliver handles a notification as the server does.
func (w *troubled) deliver(n Notification) {
	w.t.Helper()
	from, can := w.from.(withdraw.Notified)
	if !can {
		return
	}
	key, err := from.ReadNotification(n.Header, n.Body)
	if err == nil && key != "" { // otherwise it is refused, as with a clock that is off
		testenv.Must(w.t, w.b.Recheck(context.Background(), key, w.from.Receiver().String()))
	}
}

// refuseForged changes notifications.
func (w *troubled) refuseForged() {
	w.t.Helper()
	from, can := w.from.(withdraw.Notified)
	if !can || len(w.heard) < 2 {
		w.t.Errorf("%d notifications", len(w.heard))
		return
	}
	for what, n := range map[string]Notification{
		"without a signature": {http.Header{}, append([]byte("x"), w.heard[0].Body...)},
		"of another one":      {w.heard[0].Header, append([]byte("x"), w.heard[1].Body...)},
	} {
		if _, err := from.ReadNotification(n.Header, n.Body); err == nil {
			w.t.Error(errors.New("accepted: a notification " + what))
		}
	}
}
