package payout

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestRefusedGivesBackOnce: whoever says so how often, the money comes back once.
func TestRefusedGivesBackOnce(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		b.rich(t, "u1", 100)
		b.withdraw(t, "w1", "u1", 70)
		w := b.leaseOne(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { must(t, b.refused(t.Context(), w, "the account is closed")) })
		}
		wg.Wait()
		b.wantBalance(t, userAccount("u1"), 100)
		if w := b.wantWithdrawal(t, "w1", WithdrawalFailed, 1); w.LastError != "the account is closed" {
			t.Errorf("%+v", w)
		}
		if err := b.paid(t.Context(), w, "x"); !errors.Is(err, errPaidTwice) {
			t.Errorf("paid after all: %v", err)
		}
		b.wantWithdrawal(t, "w1", WithdrawalFailed, 1)
		must(t, b.again(t.Context(), w, 0, "x"))
		if taken, err := b.lease(t.Context(), 10, time.Minute); err != nil || len(taken) != 0 {
			t.Errorf("a failed one is tried: %+v, %v", taken, err)
		}
		if again, balance, err := b.Withdraw(t.Context(), "w1", "u1", 70); err != nil || balance != 100 ||
			again.State != WithdrawalFailed {
			t.Errorf("the request again: %+v, %d, %v", again, balance, err)
		}
		b.audit(t)
	})
}

// TestALeaseIsForOne: while it lasts nobody else has the withdrawal, and after it everybody may.
func TestALeaseIsForOne(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		const count = 40
		b.rich(t, "u1", count)
		for i := range count {
			b.withdraw(t, fmt.Sprintf("w%02d", i), "u1", 1)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		leased := map[string]int{}
		random := testenv.Random(t)
		for range 6 {
			wg.Go(func() {
				for {
					taken, err := b.lease(t.Context(), 1+random.IntN(5), time.Hour)
					if err != nil {
						t.Error(err)
					}
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
		}
		wg.Wait()
		for id, n := range leased {
			if n != 1 {
				t.Errorf("%s was leased %d times", id, n)
			}
		}
		if len(leased) != count {
			t.Errorf("%d of %d were leased", len(leased), count)
		}
		b.clock.now.Add(time.Hour.Milliseconds())
		if taken, err := b.lease(t.Context(), count, time.Hour); err != nil || len(taken) != count ||
			taken[0].Attempts != 2 {
			t.Errorf("after the lease: %d, %v", len(taken), err)
		}
	})
}

// TestWhoHasLostTheLeaseGivesNothingBack: the first try takes too long, and a second begins. Nobody knows what the
// second will hear, so the first may put nothing off, bury nothing, and give no money back. That it was paid is
// true all the same.
func TestWhoHasLostTheLeaseGivesNothingBack(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.rich(t, "u1", 100)
		b.withdraw(t, "w1", "u1", 70)
		first := b.leaseOne(t)
		b.clock.now.Add(time.Minute.Milliseconds())
		second := b.leaseOne(t)
		if err := b.refused(ctx, first, "no"); !errors.Is(err, errLeaseLost) {
			t.Errorf("refused: %v", err)
		}
		if err := b.bury(ctx, first, "no"); !errors.Is(err, errLeaseLost) {
			t.Errorf("bury: %v", err)
		}
		must(t, b.again(ctx, first, 0, "no"))
		b.wantBalance(t, userAccount("u1"), 30)
		if w := b.wantWithdrawal(t, "w1", WithdrawalPending, 2); w.NextAt != second.NextAt || w.Dead ||
			w.LastError != "" {
			t.Errorf("%+v", w)
		}
		must(t, b.paid(ctx, first, "bank"))
		if err := b.refused(ctx, second, "no"); !errors.Is(err, errLeaseLost) {
			t.Errorf("refused after it was paid: %v", err)
		}
		must(t, b.again(ctx, second, 0, "no"))
		b.wantWithdrawal(t, "w1", WithdrawalPaid, 2)
		b.wantBalance(t, userAccount("u1"), 30)
		b.audit(t)
	})
}

// TestDeadWithdrawal: it stays pending for the player, is listed with the other dead letters, disturbs no
// campaign's books, and is tried again when an operator says so, as often as it takes.
func TestDeadWithdrawal(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.rich(t, "u1", 100)
		b.withdraw(t, "w1", "u1", 70)
		if _, err := b.Retry(ctx, "w1"); !errors.Is(err, ErrUnknownClaim) {
			t.Errorf("a retry of what is not dead: %v", err)
		}
		for round := range 3 {
			w := b.leaseOne(t)
			if w.Attempts != 1 {
				t.Errorf("round %d: %d tries", round, w.Attempts)
			}
			reason := fmt.Sprintf("round %d %s", round, strings.Repeat("红", 300))
			must(t, b.bury(ctx, w, reason))
			must(t, b.bury(ctx, w, reason)) // the answer of the first was lost
			b.clock.now.Add(time.Hour.Milliseconds())
			if taken, err := b.lease(ctx, 10, time.Minute); err != nil || len(taken) != 0 {
				t.Errorf("a dead one is tried: %+v, %v", taken, err)
			}
			if w := b.wantWithdrawal(t, "w1", WithdrawalPending, 1); !w.Dead {
				t.Errorf("%+v", w)
			}
			b.wantBalance(t, userAccount("u1"), 30)
			letters, _, err := b.DeadLetters(ctx, "", 10)
			if err != nil || len(letters) != 1 {
				t.Fatalf("%+v, %v", letters, err)
			}
			d := letters[0]
			if d.Claim != "w1" || d.Kind != "withdrawal" || d.User != "u1" || d.Amount != 70 || d.Campaign != "" ||
				d.WonAt != w.CreatedAt ||
				!strings.HasPrefix(d.Reason, fmt.Sprintf("round %d 红", round)) {
				t.Errorf("%+v", d)
			}
			if n, err := b.countDead(ctx); err != nil || n != 1 {
				t.Errorf("%d dead, %v", n, err)
			}
			if round == 2 {
				break
			}
			if settled, err := b.Retry(ctx, "w1"); err != nil || len(settled) != 0 {
				t.Errorf("retried: %+v, %v", settled, err)
			}
			if w := b.wantWithdrawal(t, "w1", WithdrawalPending, 0); w.Dead {
				t.Errorf("%+v", w)
			}
		}
		c, err := b.Campaign(ctx, "for-u1")
		must(t, err)
		snapshot := []rain.ShardSnapshot{{Found: true, Won: 1, AmountWon: 100, LastEntry: "1-0"}}
		if got := b.reconcile(t, c, snapshot); !got.Balanced || got.Paid != 100 || got.Dead != 0 {
			t.Errorf("the campaign's books: %+v", got)
		}
		if ok, err := b.Cleared(ctx, "for-u1"); err != nil || !ok {
			t.Errorf("cleared: %v, %v", ok, err)
		}
		if claims, _, err := b.Claims(ctx, ClaimQuery{User: "u1", Limit: 10}); err != nil || len(claims) != 1 ||
			claims[0].State != StateSettled {
			t.Errorf("the player's claims: %+v, %v", claims, err)
		}
		// The provider's answer comes at last: paid, and nothing waits any more.
		must(t, b.paid(ctx, Withdrawal{ID: "w1"}, "bank"))
		if w := b.wantWithdrawal(t, "w1", WithdrawalPaid, 1); w.Dead {
			t.Errorf("%+v", w)
		}
		if n, err := b.countDead(ctx); err != nil || n != 0 {
			t.Errorf("%d dead, %v", n, err)
		}
		if _, err := b.Retry(ctx, "w1"); !errors.Is(err, ErrUnknownClaim) {
			t.Errorf("a retry of what is paid: %v", err)
		}
		b.audit(t)
	})
}
