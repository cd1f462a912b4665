package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// limitOf returns the limit in an error.
func limitOf(err error) ledger.Limit {
	if l, ok := errors.AsType[*ledger.LimitError](err); ok {
		return l.Limit
	}
	return ""
}

// TestPlayersAreHeldToLimits: the minimum, the daily sum, the hourly number, and guests. Each ends with its time. An
// existing withdrawal is found by its id whatever the limits are by then.
func TestPlayersAreHeldToLimits(t *testing.T) {
	const guest = "guest-0123456789abcdef0123"
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 1000)
		b.Rich(t, guest, 1000)
		strict := b.Within(ledger.PlayerLimits{Least: 10, PerDay: 100, PerHour: 3, NoGuests: true})
		made := 0
		ask := func(user string, amount rain.Money, want ledger.Limit) (after time.Duration) {
			t.Helper()
			made++
			_, _, err := strict.Withdraw(t.Context(), fmt.Sprintf("w%d", made), user, amount)
			if got := limitOf(err); got != want || want == "" && err != nil {
				t.Errorf("%s takes %d: %v, want %q", user, amount, err, want)
			}
			if l, ok := errors.AsType[*ledger.LimitError](err); ok {
				after = l.After
			}
			return after
		}
		pass := func(d time.Duration) { b.Clock.Add(d.Milliseconds()) }
		ask(guest, 50, ledger.LimitGuests)
		ask("u1", 9, ledger.LimitLeast)
		ask("u1", 10, "")
		ask("u1", 101, ledger.LimitDay)
		pass(20 * time.Minute)
		ask("u1", 10, "")
		ask("u1", 10, "")
		if after := ask("u1", 10, ledger.LimitHour); after < 39*time.Minute || after > 40*time.Minute {
			t.Errorf("the next is allowed in %v", after)
		}
		pass(40 * time.Minute) // the first is an hour old
		ask("u1", 70, "")
		ask("u1", 10, ledger.LimitHour)
		pass(time.Hour)
		ask("u1", 10, ledger.LimitDay)
		pass(22*time.Hour + time.Minute) // the first does not count for the day any more
		ask("u1", 10, "")
		if w, _, err := strict.Withdraw(t.Context(), "w3", "u1", 10); err != nil || w.ID != "w3" {
			t.Errorf("a retry of a made withdrawal is refused: %+v, %v", w, err)
		}
		testenv.Must(t, paytest.Err3(b.Withdraw(t.Context(), "free", guest, 1)))
		b.WantBalance(t, booking.UserAccount("u1"), 1000-110)
	})
}

// TestWhatCameBackIsNotTheDays: returned withdrawals do not count for the daily sum.
func TestWhatCameBackIsNotTheDays(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 1000)
		strict := b.Within(ledger.PlayerLimits{PerDay: 100})
		testenv.Must(t, paytest.Err3(strict.Withdraw(t.Context(), "w1", "u1", 100)))
		testenv.Must(t, b.RecordRefused(t.Context(), b.LeaseOne(t), "no"))
		testenv.Must(t, paytest.Err3(strict.Withdraw(t.Context(), "w2", "u1", 100)))
	})
}

// TestLimitsHoldOnThreeNodes: a player requests on three nodes concurrently, thirty times.
func TestLimitsHoldOnThreeNodes(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "hour", 1000)
		b.Rich(t, "day", 1000)
		for user, limits := range map[string]ledger.PlayerLimits{"hour": {PerHour: 4}, "day": {PerDay: 45}} {
			var mu sync.Mutex
			var wg sync.WaitGroup
			made := 0
			for node := range 3 {
				withdrawals := paytest.Node(t, b).Withdrawals.Within(limits)
				for i := range 10 {
					wg.Go(func() {
						_, _, err := withdrawals.Withdraw(t.Context(), fmt.Sprintf("%s%d-%d", user, node, i), user, 10)
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							made++
						} else if limitOf(err) == "" {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			if made != 4 {
				t.Errorf("%s: %d were made, want 4", user, made)
			}
			b.WantBalance(t, booking.ClearingAccount(user), 40)
		}
	})
}

// TestWithdrawHeld: it is not sent before an operator has released it, even after a second request. Its history has
// the source and the reason of the hold, and the reconciliation accepts it. An existing withdrawal is not held any
// more.
func TestWithdrawHeld(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "withdrawal.release")
		b.Rich(t, "u1", 100)
		for range 2 {
			w, balance, err := b.WithdrawHeld(t.Context(), "w1", "u1", 60, "a mule")
			if err != nil || w.State != ledger.WithdrawalHeld || balance != 40 {
				t.Fatalf("%+v, %d, %v", w, balance, err)
			}
		}
		testenv.Got(b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)).Len(t, 0, "a held one is sent")
		b.WantBalance(t, booking.ClearingAccount("u1"), 60)
		history, err := b.WithdrawalHistory(t.Context(), "w1")
		if err != nil || len(history) != 2 || history[0].State != ledger.WithdrawalRequested ||
			history[1].State != ledger.WithdrawalHeld || history[1].Actor != ledger.ByService ||
			!strings.Contains(history[1].Reason, "a mule") {
			t.Errorf("%+v, %v", history, err)
		}
		b.CheckBooks(t)
		testenv.Must(t, b.Release(ctx, "w1", ann))
		w := b.LeaseOne(t)
		if again, _, err := b.WithdrawHeld(ctx, "w1", "u1", 60, "a mule"); err != nil ||
			again.State == ledger.WithdrawalHeld {
			t.Errorf("held after it was sent: %+v, %v", again, err)
		}
		testenv.Must(t, b.RecordPaid(ctx, w, "x"))
	})
}

// After a denial by another system, the rules do not hold the player. A later verdict of that system counts, and a
// person's verdict counts more.
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
		testenv.Must(t, testenv.Err(l.Risk.Give(t.Context(), c.by, standing.Verdict{User: "u", Act: c.act,
			Score: 10 * i, Reasons: "[]"})))
		if v, _, err := l.Risk.Verdict(t.Context(), "u"); err != nil || v.Act != c.after {
			t.Errorf("after %s said %s: %+v, %v", c.by, c.act, v, err)
		}
	}
}
