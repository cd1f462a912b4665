package ledger_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
)

// TestAnotherReceiverIsNeverAsked: what was sent to one receiver is not for another, however long it stays unanswered;
// after a minute without anybody who asks the first, it waits for an operator, who has it tried with the first again.
func TestAnotherReceiverIsNeverAsked(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		first := b.MustSend(t, "w1", "u1", 60)
		if first.AskedBefore || first.Receiver != paytest.Bank {
			t.Errorf("%+v", first)
		}
		paytest.Must(t, b.RecordRetry(ctx, first, 0, "no answer"))
		for range 2 { // and again when an operator retries it
			paytest.Got(b.LeaseDue(ctx, "wallet", 10, time.Minute)).Len(t, 0, "another receiver is asked")
			paytest.Got(b.BuryStrays(ctx, "wallet", 10)).Len(t, 0, "while the first may still be asked")
			b.Clock.Add(time.Minute.Milliseconds())
			paytest.Got(b.BuryStrays(ctx, paytest.Bank, 10)).Len(t, 0, "its own receiver gives it up")
			paytest.Got(b.BuryStrays(ctx, "wallet", 10)).Len(t, 1)
			w := b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, w1Attempts(t, b))
			if !w.Dead || w.LastError != "was sent to bank; this server uses wallet" || b.CountDead(t) != 1 {
				t.Errorf("%+v, %d letters", w, b.CountDead(t))
			}
			paytest.Got(b.BuryStrays(ctx, "wallet", 10)).Len(t, 0, "a letter is written twice")
			b.CheckBooks(t)
			paytest.Must(t, testenv.Err(b.Retry(ctx, "w1")))
		}
		again := b.LeaseOne(t)
		if !again.AskedBefore || again.SentAt != first.SentAt {
			t.Errorf("%+v", again)
		}
		stranger := again
		stranger.Receiver = "wallet"
		testenv.WantErr(t, b.RecordPaid(ctx, stranger, "x"), ledger.ErrNotAsked, "paid by one who was not asked")
		b.WantBalance(t, booking.ClearingAccount("u1"), 60)
		paytest.Must(t, b.RecordPaid(ctx, again, "theirs"))
		b.WantBalance(t, booking.ClearingAccount("u1"), 0)
		b.CheckBooks(t)
	})
}

func w1Attempts(t *testing.T, b *paytest.Books) int {
	t.Helper()
	w := paytest.Got(b.Withdrawal(t.Context(), "w1")).Must(t)
	return w.Attempts
}

// TestOneOfTwoReceiversGetsIt: payers with two receivers look for work at once; each withdrawal goes to one of them.
func TestOneOfTwoReceiversGetsIt(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const count = 30
		b.Rich(t, "u1", count)
		for i := range count {
			b.MustWithdraw(t, "w"+string(rune('A'+i)), "u1", 1)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		got := map[string][]string{}
		for _, receiver := range []string{"a", "b", "a", "b"} {
			wg.Go(func() {
				for range 100 {
					due, err := b.LeaseDue(t.Context(), receiver, 3, 0) // leases that have ended already
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, w := range due {
						got[w.ID] = append(got[w.ID], receiver)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for id, by := range got {
			if slices.Sort(by); len(slices.Compact(by)) != 1 {
				t.Errorf("%s was sent to %v", id, by)
			}
		}
		b.CheckBooks(t)
	})
}

// TestAWithdrawalHasAHistory: each change of its state with who and why; a receiver that waits is asked again.
func TestAWithdrawalHasAHistory(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		w := b.MustSend(t, "w1", "u1", 60)
		do := ledger.Action{URL: "https://pay.example/c", Data: "d", Until: 7}
		for range 2 { // the second says nothing new
			paytest.Must(t, b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalAction, Action: do,
				Reference: "theirs", Reason: "confirm it", After: time.Second}))
			b.Clock.Add(1000)
			w = b.LeaseOne(t)
			if w.State != ledger.WithdrawalAction || w.Action != do || w.Attempts != 1 || w.Reference != "theirs" ||
				w.WaitsSince == 0 {
				t.Errorf("%+v", w)
			}
		}
		since := w.WaitsSince
		paytest.Must(t, b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalSent, Reason: "confirmed"}))
		w = b.LeaseOne(t)
		if w.Action != (ledger.Action{}) || w.WaitsSince != since || w.Reference != "theirs" {
			t.Errorf("%+v", w)
		}
		paytest.Must(t, b.RecordDead(ctx, w, "silence"))
		paytest.Must(t, testenv.Err(b.Retry(paytest.As(t, "payout.retry"), "w1")))
		w = b.LeaseOne(t)
		if w.WaitsSince != 0 {
			t.Errorf("%+v", w)
		}
		paytest.Must(t, b.RecordPaid(ctx, w, "theirs"))
		history := paytest.Got(b.WithdrawalHistory(ctx, "w1")).Must(t)
		var got []string
		for _, e := range history {
			got = append(got, string(e.State)+" | "+e.Actor+" | "+e.Reason)
		}
		want := []string{
			"requested | player:u1 | ", "sent | redrain | sent to bank", "action_required | redrain | confirm it",
			"sent | redrain | confirmed", "sent | redrain | waits for an operator: silence",
			"sent | operator:ann | retried", "paid | redrain | paid by bank",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		b.CheckBooks(t)
	})
}
