package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestRefusedGivesBackOnce: for any number of refusals by any node, the money returns once.
func TestRefusedGivesBackOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 100)
		w := b.MustSend(t, "w1", "u1", 70)
		paytest.Together(8, func(int) { testenv.Must(t, b.RecordRefused(t.Context(), w, "the account is closed")) })
		b.WantBalance(t, booking.UserAccount("u1"), 100)
		testenv.Equal(t, b.WantWithdrawal(t, "w1", ledger.WithdrawalRefused, 1).LastError, "the account is closed",
			"its last error")
		testenv.WantErr(t, b.RecordPaid(t.Context(), w, "x"), ledger.ErrPaidTwice, "paid after all")
		b.WantWithdrawal(t, "w1", ledger.WithdrawalRefused, 1)
		testenv.Must(t, b.RecordRetry(t.Context(), w, 0, "x"))
		testenv.Got(b.LeaseDue(t.Context(), paytest.Bank, 10, time.Minute)).Len(t, 0, "a failed one is tried")
		if again, balance, err := b.Withdraw(t.Context(), "w1", "u1", 70); err != nil || balance != 100 ||
			again.State != ledger.WithdrawalRefused {
			t.Errorf("the request again: %+v, %d, %v", again, balance, err)
		}
	})
}

// TestALeaseIsForOne: during the lease no other node gets the withdrawal, and after it every node may.
func TestALeaseIsForOne(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const count = 40
		b.Rich(t, "u1", count)
		for i := range count {
			b.MustWithdraw(t, fmt.Sprintf("w%02d", i), "u1", 1)
		}
		var mu sync.Mutex
		leased := map[string]int{}
		random := testenv.Random(t)
		paytest.Together(6, func(int) {
			for {
				taken, err := b.LeaseDue(t.Context(), paytest.Bank, 1+random.IntN(5), time.Hour)
				testenv.WantErr(t, err, nil)
				if len(taken) == 0 {
					return
				}
				mu.Lock()
				for _, w := range taken {
					leased[w.ID]++
				}
				mu.Unlock()
			}
		})
		for id, n := range leased {
			if n != 1 {
				t.Errorf("%s was leased %d times", id, n)
			}
		}
		if len(leased) != count {
			t.Errorf("%d of %d were leased", len(leased), count)
		}
		b.Clock.Add(time.Hour.Milliseconds())
		if taken, err := b.LeaseDue(t.Context(), paytest.Bank, count, time.Hour); err != nil || len(taken) != count ||
			taken[0].Attempts != 2 {
			t.Errorf("after the lease: %d, %v", len(taken), err)
		}
	})
}

// TestWhoHasLostTheLeaseGivesNothingBack: the first try takes too long, and a second begins. The second's answer is
// unknown, so the first may not delay it, make a dead letter, or return money. A payment is recorded all the same.
func TestWhoHasLostTheLeaseGivesNothingBack(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		first := b.MustSend(t, "w1", "u1", 70)
		b.Clock.Add(time.Minute.Milliseconds())
		second := b.LeaseOne(t)
		testenv.WantErr(t, b.RecordRefused(ctx, first, "no"), ledger.ErrLeaseLost, "refused")
		testenv.WantErr(t, b.RecordDead(ctx, first, "no"), ledger.ErrLeaseLost, "dead-letter")
		testenv.Must(t, b.RecordRetry(ctx, first, 0, "no"))
		b.WantBalance(t, booking.UserAccount("u1"), 30)
		if w := b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, 2); w.NextAt != second.NextAt || w.Dead ||
			w.LastError != "" {
			t.Errorf("%+v", w)
		}
		testenv.Must(t, b.RecordPaid(ctx, first, "bank"))
		testenv.WantErr(t, b.RecordRefused(ctx, second, "no"), ledger.ErrLeaseLost, "refused after it was paid")
		testenv.Must(t, b.RecordRetry(ctx, second, 0, "no"))
		if w := b.WantWithdrawal(t, "w1", ledger.WithdrawalPaid, 2); w.LastError != "" || w.NextAt != second.NextAt {
			t.Errorf("%+v", w)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 30)
	})
}

// TestDeadWithdrawal: it stays pending for the player, is listed with the other dead letters, and belongs to no
// campaign's books. An operator can retry it any number of times.
func TestDeadWithdrawal(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		b.MustWithdraw(t, "w1", "u1", 70)
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, "w1")), ledger.ErrUnknownClaim, "a retry, not dead")
		for round := range 3 {
			w := b.LeaseOne(t)
			if w.Attempts != 1 {
				t.Errorf("round %d: %d tries", round, w.Attempts)
			}
			reason := fmt.Sprintf("round %d %s", round, strings.Repeat("红", 300))
			testenv.Must(t, b.RecordDead(ctx, w, reason))
			testenv.Must(t, b.RecordDead(ctx, w, reason)) // the answer of the first was lost
			testenv.WantErr(t, b.RecordRefused(ctx, w, "late"), ledger.ErrLeaseLost, "a dead one is refused")
			b.Clock.Add(time.Hour.Milliseconds())
			testenv.Got(b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)).Len(t, 0, "a dead one is tried")
			testenv.Equal(t, b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, 1).Dead, true, "dead")
			b.WantBalance(t, booking.UserAccount("u1"), 30)
			letters, _, err := b.ListDeadLetters(ctx, "", 10)
			if err != nil || len(letters) != 1 {
				t.Fatalf("%+v, %v", letters, err)
			}
			d := letters[0]
			if d.Claim != "w1" || d.Kind != "withdrawal" || d.User != "u1" || d.Amount != 70 || d.Campaign != "" ||
				d.WonAt != w.CreatedAt ||
				!strings.HasPrefix(d.Reason, fmt.Sprintf("round %d 红", round)) {
				t.Errorf("%+v", d)
			}
			testenv.Equal(t, b.CountDead(t), 1, "dead")
			if round == 2 {
				break
			}
			testenv.Got(b.Retry(paytest.As(t, "payout.retry"), "w1")).Len(t, 0, "retried")
			if r, before, after, _ := b.LastAudit(t); r.Target != "claim:w1" || before["state"] != "dead" ||
				after["state"] != "failed" {
				t.Errorf("%s: %s", r.Target, r.Detail)
			}
			testenv.Equal(t, b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, 0).Dead, false, "dead")
		}
		c := testenv.Got(b.Campaign(ctx, "for-u1")).Must(t)
		redis := paytest.NewFakeRedis(b.Clock.Now, c)
		redis.Settled(paytest.Entry("for-u1", 1, paytest.Win("u1", 0, 100)))
		if got := b.Prove(t, c, redis); !got.Balanced || got.Paid != 100 || got.Dead != 0 {
			t.Errorf("the campaign's books: %+v", got)
		}
		testenv.Got(b.Cleared(ctx, "for-u1")).Want(t, true, "cleared")
		if claims, _, err := b.ListClaims(ctx, ledger.ClaimQuery{User: "u1", Limit: 10}); err != nil ||
			len(claims) != 1 ||
			claims[0].State != ledger.StateSettled {
			t.Errorf("the player's claims: %+v, %v", claims, err)
		}
		// The provider's answer comes at last: paid, and nothing waits any more.
		late := testenv.Got(b.Withdrawal(ctx, "w1")).Must(t)
		testenv.Must(t, b.RecordPaid(ctx, late, "bank"))
		testenv.Equal(t, b.WantWithdrawal(t, "w1", ledger.WithdrawalPaid, 1).Dead, false, "dead")
		testenv.Equal(t, b.CountDead(t), 0, "dead")
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, "w1")), ledger.ErrUnknownClaim, "a retry, paid")
	})
}

// TestAWithdrawalOfTheFuture: a time too far ahead (tampered row, wrong clock) is ignored, and no try is delayed
// longer than the limit.
func TestAWithdrawalOfTheFuture(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u", 10)
		b.MustWithdraw(t, "w", "u", 10)
		for _, state := range []ledger.WithdrawalState{ledger.WithdrawalRequested, ledger.WithdrawalSent} {
			for _, ahead := range []time.Duration{10_000 * time.Hour, ledger.LongestWait} {
				b.Statement(t, fmt.Sprintf("UPDATE withdrawal SET next_at = %d WHERE state = '%s'",
					b.Clock.Load()+ahead.Milliseconds(), state))
				taken, err := b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)
				if err != nil || (len(taken) == 1) != (ahead > ledger.LongestWait) {
					t.Errorf("%s, due in %s: %+v, %v", state, ahead, taken, err)
				}
				if len(taken) == 1 {
					testenv.Must(t, b.RecordRetry(ctx, taken[0], 10_000*time.Hour, "the provider says: next year"))
				}
			}
			b.Clock.Add(ledger.LongestWait.Milliseconds())
			w := b.LeaseOne(t)
			testenv.Must(t, b.RecordWaiting(ctx, w,
				ledger.Waiting{State: ledger.WithdrawalSent, After: 10_000 * time.Hour}))
			b.Clock.Add(ledger.LongestWait.Milliseconds())
			b.LeaseOne(t)
		}
	})
}

// TestAFrozenTryWakesUp: a try writes nothing after another one has begun. The clock may have been set back, so that
// both have the same lease time.
func TestAFrozenTryWakesUp(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u", 10)
		b.MustWithdraw(t, "w", "u", 10)
		began := b.Clock.Now()
		var now atomic.Int64
		node := ledger.New(b.DB, now.Load, rain.NewAmountsCache()).Withdrawals
		lease := func(at int64) ledger.Withdrawal {
			now.Store(at)
			taken, err := node.LeaseDue(ctx, paytest.Bank, 10, time.Minute)
			if err != nil || len(taken) != 1 {
				t.Fatalf("%+v, %v", taken, err)
			}
			return taken[0]
		}
		frozen := lease(began)
		now.Store(began + time.Minute.Milliseconds() - 1)
		if taken, err := node.LeaseDue(ctx, paytest.Bank, 10, time.Minute); err != nil || len(taken) > 0 {
			t.Errorf("leased before its lease is over: %+v, %v", taken, err)
		}
		second := lease(began + time.Minute.Milliseconds())
		now.Store(began)
		testenv.Must(t, node.RecordWaiting(ctx, second, ledger.Waiting{State: ledger.WithdrawalSent}))
		third := lease(began)
		if third.Attempts != frozen.Attempts || third.NextAt != frozen.NextAt || third.State != frozen.State {
			t.Fatalf("%+v, %+v: the test tests nothing", third, frozen)
		}
		for what, err := range map[string]error{
			"refused": node.RecordRefused(ctx, frozen, "no such account"),
			"dead":    node.RecordDead(ctx, frozen, "no answer"),
		} {
			if !errors.Is(err, ledger.ErrLeaseLost) {
				t.Errorf("%s: %v", what, err)
			}
		}
		testenv.Must(t, node.RecordRetry(ctx, frozen, time.Hour, "later"))
		testenv.Must(t, node.RecordWaiting(ctx, frozen, ledger.Waiting{State: ledger.WithdrawalSent, After: time.Hour}))
		if is, err := node.Withdrawal(ctx, "w"); err != nil || is.NextAt != third.NextAt || is.LastError != "" {
			t.Errorf("%+v, %v", is, err)
		}
		testenv.Must(t, node.RecordRefused(ctx, third, "no such account"))
		b.WantBalance(t, booking.UserAccount("u"), 10)
	})
}
