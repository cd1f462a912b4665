package ledger_test

import (
	"errors"
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
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		first := b.MustSend(t, "w1", "u1", 60)
		if first.AskedBefore || first.Receiver != paytest.Bank {
			t.Errorf("%+v", first)
		}
		testenv.Must(t, b.RecordRetry(ctx, first, 0, "no answer"))
		for range 2 { // and again when an operator retries it
			testenv.Got(b.LeaseDue(ctx, "wallet", 10, time.Minute)).Len(t, 0, "another receiver is asked")
			testenv.Got(b.BuryOrphans(ctx, "wallet", 10)).Len(t, 0, "while the first may still be asked")
			b.Clock.Add(time.Minute.Milliseconds())
			testenv.Got(b.BuryOrphans(ctx, paytest.Bank, 10)).Len(t, 0, "its own receiver gives it up")
			testenv.Got(b.BuryOrphans(ctx, "wallet", 10)).Len(t, 1, "strays")
			w := testenv.Got(b.Withdrawal(ctx, "w1")).Must(t)
			if w.State != ledger.WithdrawalSent || !w.Dead ||
				w.LastError != "was sent to bank; this server uses wallet" || b.CountDead(t) != 1 {
				t.Errorf("%+v, %d dead letters", w, b.CountDead(t))
			}
			testenv.Got(b.BuryOrphans(ctx, "wallet", 10)).Len(t, 0, "a letter is written twice")
			b.CheckBooks(t)
			testenv.Must(t, testenv.Err(b.Retry(ctx, "w1")))
		}
		again := b.LeaseOne(t)
		if !again.AskedBefore || again.SentAt != first.SentAt {
			t.Errorf("%+v", again)
		}
		stranger := again
		stranger.Receiver = "wallet"
		testenv.WantErr(t, b.RecordPaid(ctx, stranger, "x"), ledger.ErrNotAsked, "paid by one who was not asked")
		b.WantBalance(t, booking.ClearingAccount("u1"), 60)
		testenv.Must(t, b.RecordPaid(ctx, again, "theirs"))
		b.WantBalance(t, booking.ClearingAccount("u1"), 0)
	})
}

// TestOneOfTwoReceiversGetsIt: payers with two receivers lease concurrently; each withdrawal goes to one of them.
func TestOneOfTwoReceiversGetsIt(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
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
	})
}

// TestAWithdrawalHasAHistory: each change of its state with actor and reason. A receiver that waits is asked again.
func TestAWithdrawalHasAHistory(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		w := b.MustSend(t, "w1", "u1", 60)
		do := ledger.Action{URL: "https://pay.example/c", Data: "d", Until: 7}
		for range 2 { // the second adds nothing
			testenv.Must(t, b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalAction, Action: do,
				Reference: "theirs", Reason: "confirm it", After: time.Second}))
			b.Clock.Add(1000)
			w = b.LeaseOne(t)
			if w.State != ledger.WithdrawalAction || w.Action != do || w.Attempts != 1 || w.Reference != "theirs" ||
				w.WaitsSince == 0 {
				t.Errorf("%+v", w)
			}
		}
		since := w.WaitsSince
		testenv.Must(t, b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalSent, Reason: "confirmed"}))
		w = b.LeaseOne(t)
		if w.Action != (ledger.Action{}) || w.WaitsSince != since || w.Reference != "theirs" {
			t.Errorf("%+v", w)
		}
		testenv.Must(t, b.RecordDead(ctx, w, "silence"))
		testenv.Must(t, testenv.Err(b.Retry(paytest.As(t, "payout.retry"), "w1")))
		w = b.LeaseOne(t)
		if w.WaitsSince != 0 {
			t.Errorf("%+v", w)
		}
		testenv.Must(t, b.RecordPaid(ctx, w, "theirs"))
		history := testenv.Got(b.WithdrawalHistory(ctx, "w1")).Must(t)
		got := paytest.Map(history,
			func(e ledger.WithdrawalEvent) string { return string(e.State) + " | " + e.Actor + " | " + e.Reason })
		want := []string{
			"requested | player:u1 | ", "sent | redrain | sent to bank", "action_required | redrain | confirm it",
			"sent | redrain | confirmed", "sent | redrain | waits for an operator: silence",
			"sent | operator:ann | retried", "paid | redrain | paid by bank",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// wantLeased checks which withdrawals a receiver gets.
func wantLeased(t *testing.T, b *paytest.Books, receiver string, ids ...string) {
	t.Helper()
	due := testenv.Got(b.LeaseDue(t.Context(), receiver, 10, time.Minute)).Must(t)
	var got []string
	for _, w := range due {
		got = append(got, w.ID)
		testenv.Must(t, b.RecordRetry(t.Context(), w, 0, "no answer"))
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		t.Errorf("%.40s is asked for %v, want %v", receiver, got, ids)
	}
}

// TestAnotherReceiverIsConfirmedFirst: the first receiver needs no confirmation. The next one gets nothing new until an
// operator confirms it, once for all nodes. Withdrawals that were sent before stay with the first, which gets nothing
// new afterwards.
func TestAnotherReceiverIsConfirmedFirst(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		first, other := "http https://a.example key1", "http https://"+strings.Repeat("b", 300)+" key2"
		b.Rich(t, "u1", 100)
		for range 2 { // and a restart
			p, err := b.Approvals.StartProvider(ctx, first, true)
			if testenv.Must(t, err); p.Before != "" || p.Pending != nil {
				t.Errorf("the first: %+v", p)
			}
		}
		b.MustWithdraw(t, "w1", "u1", 10)
		wantLeased(t, b, first, "w1")

		orders := make(chan string, 2)
		var nodes sync.WaitGroup
		for range cap(orders) {
			l := paytest.Node(t, b)
			nodes.Go(func() {
				p, err := l.Approvals.StartProvider(ctx, other, true)
				if err != nil || p.Before != first || p.Pending == nil {
					t.Errorf("another: %+v, %v", p, err)
					orders <- ""
					return
				}
				orders <- p.Pending.ID
			})
		}
		nodes.Wait()
		order := <-orders
		if again := <-orders; order != again {
			t.Errorf("two nodes ask for two orders: %s, %s", order, again)
		}
		b.MustWithdraw(t, "w2", "u1", 10)
		wantLeased(t, b, other)
		b.WantWithdrawal(t, "w2", ledger.WithdrawalRequested, 0)
		shared := ledger.Person{Name: "operator", Nameless: true}
		testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, order, shared)), ledger.ErrNeedsName,
			"confirmed without a name")
		testenv.Must(t, paytest.Err3(b.Approvals.Confirm(paytest.As(t, "approval.confirm"), order, bob)))
		if _, _, err := b.Approvals.Confirm(ctx, order, ann); !errors.Is(err, ledger.ErrApprovalOver) {
			t.Errorf("confirmed twice: %v", err)
		}
		b.MustWithdraw(t, "w3", "u1", 10)
		wantLeased(t, b, first, "w1")
		wantLeased(t, b, other, "w2", "w3")
		if p, err := b.Approvals.StartProvider(ctx, other, true); err != nil || p.Before != "" || p.Pending != nil {
			t.Errorf("a restart: %+v, %v", p, err)
		}
		records := testenv.Got3(b.ListAudit(ctx, "", 10)).Must(t)
		if len(records) != 3 || records[0].Action != "provider" || records[1].Action != "provider.ask" ||
			records[1].Actor != "redrain" || records[2].Action != "provider" || records[2].Target != first ||
			!strings.Contains(string(records[0].Detail), `"asked_by":"redrain"`) ||
			!strings.Contains(string(records[0].Detail), order) || records[0].Actor != "ann" {
			t.Errorf("%+v", records)
		}
	})
}

// TestARejectedReceiver gets nothing, and due withdrawals stay with the receiver before it. An order is void once
// another receiver was confirmed.
func TestARejectedReceiver(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		orders := map[string]string{}
		for _, receiver := range []string{"a", "b", "c", "d"} {
			p := testenv.Got(b.Approvals.StartProvider(ctx, receiver, true)).Must(t)
			if p.Pending != nil {
				orders[receiver] = p.Pending.ID
			}
		}
		b.MustWithdraw(t, "w1", "u1", 10)
		testenv.Must(t, testenv.Err(b.Approvals.Reject(ctx, orders["b"], bob)))
		wantLeased(t, b, "b")
		testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, orders["b"], bob)), ledger.ErrApprovalOver)
		testenv.Must(t, paytest.Err3(b.Approvals.Confirm(ctx, orders["c"], bob)))
		testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, orders["d"], bob)), ledger.ErrChangedMeanwhile,
			"an order that did not know of c")
		p := testenv.Got(b.Approvals.StartProvider(ctx, "e", true)).Must(t)
		b.Clock.Add((24 * time.Hour).Milliseconds())
		testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, p.Pending.ID, bob)), ledger.ErrApprovalOver,
			"an old order")
		for _, receiver := range []string{"a", "b", "d", "e"} {
			wantLeased(t, b, receiver)
		}
		wantLeased(t, b, "c", "w1")
	})
}

// TestNobodyToConfirmAReceiver: if operators have no names, another receiver needs no confirmation. The audit records
// it.
func TestNobodyToConfirmAReceiver(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	b.Rich(t, "u1", 100)
	for _, receiver := range []string{"a", "b", "a"} {
		testenv.Must(t, testenv.Err(b.Approvals.StartProvider(t.Context(), receiver, false)))
	}
	p, err := b.Approvals.StartProvider(t.Context(), "b", false)
	if testenv.Must(t, err); p.Before != "a" || p.Pending != nil {
		t.Errorf("%+v", p)
	}
	b.MustWithdraw(t, "w1", "u1", 10)
	wantLeased(t, b, "a")
	wantLeased(t, b, "b", "w1")
	records := testenv.Got3(b.ListAudit(t.Context(), "", 10)).Must(t)
	if len(records) != 4 || records[0].Action != "provider" || records[0].Actor != "redrain" ||
		records[0].Target != "b" ||
		!strings.Contains(string(records[0].Detail), `"before":{"provider":"a"}`) {
		t.Errorf("%+v", records)
	}
}
