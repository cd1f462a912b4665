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

// TestAnotherReceiverIsNeverAsked: a withdrawal that was sent to one receiver is not sent to another, however long it
// stays unanswered. After a minute without a node of the first receiver, it becomes a dead letter. An operator's
// retry sends it to the first again.
func TestAnotherReceiverIsNeverAsked(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		first := b.MustSend(t, "w1", "u1", 60)
		if first.AskedBefore || first.Receiver != paytest.Bank {
			t.Errorf("%+v", first)
		}
		paytest.Must(t, b.RecordRetry(ctx, first, 0, "no answer"))
		for range 2 { // and again after an operator's retry
			due, err := b.LeaseDue(ctx, "wallet", 10, time.Minute)
			if err != nil || len(due) != 0 {
				t.Errorf("another receiver is asked: %+v, %v", due, err)
			}
			if strays, err := b.BuryStrays(ctx, "wallet", 10); err != nil || len(strays) != 0 {
				t.Errorf("while the first may still be asked: %+v, %v", strays, err)
			}
			b.Clock.Add(time.Minute.Milliseconds())
			if strays, err := b.BuryStrays(ctx, paytest.Bank, 10); err != nil || len(strays) != 0 {
				t.Errorf("its own receiver gives it up: %+v, %v", strays, err)
			}
			if strays, err := b.BuryStrays(ctx, "wallet", 10); err != nil || len(strays) != 1 {
				t.Errorf("%+v, %v", strays, err)
			}
			w := b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, w1Attempts(t, b))
			if !w.Dead || w.LastError != "was sent to bank; this server uses wallet" || b.CountDead(t) != 1 {
				t.Errorf("%+v, %d letters", w, b.CountDead(t))
			}
			if strays, err := b.BuryStrays(ctx, "wallet", 10); err != nil || len(strays) != 0 {
				t.Errorf("a letter is written twice: %+v, %v", strays, err)
			}
			b.CheckBooks(t)
			_, err = b.Retry(ctx, "w1")
			paytest.Must(t, err)
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
	w, err := b.Withdrawal(t.Context(), "w1")
	paytest.Must(t, err)
	return w.Attempts
}

// TestOneOfTwoReceiversGetsIt: payers with two receivers lease concurrently; each withdrawal goes to one of them.
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
					due, err := b.LeaseDue(t.Context(), receiver, 3, 0) // leases that end at once
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

// TestAWithdrawalHasAHistory: each change of its state with actor and reason. A receiver that waits is asked again.
func TestAWithdrawalHasAHistory(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		w := b.MustSend(t, "w1", "u1", 60)
		do := ledger.Action{URL: "https://pay.example/c", Data: "d", Until: 7}
		for range 2 { // the second adds nothing
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
		_, err := b.Retry(paytest.As(t, "payout.retry"), "w1")
		paytest.Must(t, err)
		w = b.LeaseOne(t)
		if w.WaitsSince != 0 {
			t.Errorf("%+v", w)
		}
		paytest.Must(t, b.RecordPaid(ctx, w, "theirs"))
		history, err := b.WithdrawalHistory(ctx, "w1")
		paytest.Must(t, err)
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
