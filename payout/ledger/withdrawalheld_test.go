package ledger_test

import (
	"strings"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
)

// TestWithdrawHeld: nobody is asked to pay it before an operator has released it, also where it is asked for again; its
// history says who has held it and why, and the books prove it. One that was there before is not held any more.
func TestWithdrawHeld(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "withdrawal.release")
		b.Rich(t, "u1", 100)
		for range 2 {
			w, balance, err := b.WithdrawHeld(t.Context(), "w1", "u1", 60, "a mule")
			if err != nil || w.State != ledger.WithdrawalHeld || balance != 40 {
				t.Fatalf("%+v, %d, %v", w, balance, err)
			}
		}
		if due, err := b.LeaseDue(ctx, paytest.Bank, 10, time.Minute); err != nil || len(due) != 0 {
			t.Errorf("a held one is sent: %+v, %v", due, err)
		}
		b.WantBalance(t, booking.ClearingAccount("u1"), 60)
		history, err := b.WithdrawalHistory(t.Context(), "w1")
		if err != nil || len(history) != 2 || history[0].State != ledger.WithdrawalRequested ||
			history[1].State != ledger.WithdrawalHeld || history[1].Actor != ledger.ByService ||
			!strings.Contains(history[1].Reason, "a mule") {
			t.Errorf("%+v, %v", history, err)
		}
		b.CheckBooks(t)
		paytest.Must(t, b.Release(ctx, "w1", ann))
		w := b.LeaseOne(t)
		if again, _, err := b.WithdrawHeld(ctx, "w1", "u1", 60, "a mule"); err != nil ||
			again.State == ledger.WithdrawalHeld {
			t.Errorf("held after it was sent: %+v, %v", again, err)
		}
		paytest.Must(t, b.RecordPaid(ctx, w, "x"))
		b.CheckBooks(t)
	})
}

// Where another system denies a player, the rules make no hold of it; its own later word counts, and a person's more.
func TestWhoseVerdictCounts(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	l := paytest.Node(t, b)
	for i, c := range []struct {
		by         string
		act, after standing.VerdictAct
	}{
		{ledger.ByRules, standing.Hold, standing.Hold}, {ledger.ByService, standing.Deny, standing.Deny},
		{ledger.ByRules, standing.Hold, standing.Deny}, {ledger.ByService, standing.Allow, standing.Allow},
		{ledger.ByRules, standing.Hold, standing.Hold}, {ledger.ByService, standing.Hold, standing.Hold},
		{"operator:ann", standing.Allow, standing.Allow}, {ledger.ByService, standing.Deny, standing.Allow},
	} {
		_, err := l.Risk.Give(t.Context(), c.by, standing.Verdict{User: "u", Act: c.act, Score: 10 * i, Reasons: "[]"})
		paytest.Must(t, err)
		if v, _, err := l.Risk.Verdict(t.Context(), "u"); err != nil || v.Act != c.after {
			t.Errorf("after %s said %s: %+v, %v", c.by, c.act, v, err)
		}
	}
}
