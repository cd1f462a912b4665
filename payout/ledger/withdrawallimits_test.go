package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// limitOf is the limit that an error names.
func limitOf(err error) ledger.Limit {
	if l, ok := errors.AsType[*ledger.LimitError](err); ok {
		return l.Limit
	}
	return ""
}

// TestPlayersAreHeldToLimits: the least, the day's sum, the hour's number, and guests; each ends when its time is over,
// and what was made is found under its id whatever the limits say by then.
func TestPlayersAreHeldToLimits(t *testing.T) {
	const guest = "guest-0123456789abcdef0123"
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
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
		pass(22*time.Hour + time.Minute) // of the day, the first is left out
		ask("u1", 10, "")
		if w, _, err := strict.Withdraw(t.Context(), "w3", "u1", 10); err != nil || w.ID != "w3" {
			t.Errorf("what was made is refused: %+v, %v", w, err)
		}
		_, _, err := b.Withdraw(t.Context(), "free", guest, 1)
		paytest.Must(t, err)
		b.WantBalance(t, booking.UserAccount("u1"), 1000-110)
		b.CheckBooks(t)
	})
}

// TestWhatCameBackIsNotTheDays: the day's sum is what players take out, not what they tried to.
func TestWhatCameBackIsNotTheDays(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 1000)
		strict := b.Within(ledger.PlayerLimits{PerDay: 100})
		_, _, err := strict.Withdraw(t.Context(), "w1", "u1", 100)
		paytest.Must(t, err)
		paytest.Must(t, b.RecordRefused(t.Context(), b.LeaseOne(t), "no"))
		_, _, err = strict.Withdraw(t.Context(), "w2", "u1", 100)
		paytest.Must(t, err)
	})
}

// TestLimitsHoldOnThreeNodes: a player asks on three nodes at once, thirty times.
func TestLimitsHoldOnThreeNodes(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
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
		b.CheckBooks(t)
	})
}
