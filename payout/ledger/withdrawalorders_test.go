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
	"redrain/payout/paytest"
)

// The people of these tests.
var (
	ann = ledger.Person{Name: "ann", ID: "token:ann", Reason: "the player has called"}
	bob = ledger.Person{Name: "bob", ID: "token:bob", Reason: "looked at the bank's books"}
)

// TestHeldWithdrawalsAreNotPaid until they are released. A sent one cannot be held.
func TestHeldWithdrawalsAreNotPaid(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "withdrawal.hold")
		b.Rich(t, "u1", 100)
		b.MustWithdraw(t, "w1", "u1", 60)
		for range 2 {
			testenv.Must(t, b.Hold(ctx, "w1", ann))
		}
		b.WantWithdrawal(t, "w1", ledger.WithdrawalHeld, 0)
		testenv.Got(b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)).Len(t, 0, "a held one is sent")
		b.WantBalance(t, booking.ClearingAccount("u1"), 60)
		b.CheckBooks(t)
		testenv.Must(t, b.Release(ctx, "w1", bob))
		testenv.WantErr(t, b.Release(ctx, "w1", bob), ledger.ErrNotHeld, "released twice")
		w := b.LeaseOne(t)
		testenv.WantErr(t, b.Hold(ctx, "w1", ann), ledger.ErrAlreadySent, "held after it was sent")
		testenv.Must(t, b.RecordPaid(ctx, w, "x"))
		testenv.WantErr(t, b.Hold(ctx, "w0", ann), ledger.ErrUnknownWithdrawal)
	})
}

// TestTwoPeopleEndALetter: one person requests, another confirms. After any event of the withdrawal, or after a day,
// a new order is needed.
func TestTwoPeopleEndALetter(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "withdrawal.paid")
		b.Rich(t, "u1", 100)
		ask := func(id string, what ledger.Act, want error) string {
			t.Helper()
			o, err := b.Approvals.Do(ctx, ledger.Deed{Act: what, Target: id, Reference: "theirs"}, ann)
			if !errors.Is(err, want) || (o.Pending == nil) != (want != nil) {
				t.Fatalf("%s of %s: %+v, %v; want %v", what, id, o, err, want)
			}
			if want != nil {
				return ""
			}
			return o.Pending.ID
		}
		confirm := func(order string, by ledger.Person, want error) {
			t.Helper()
			testenv.WantErr(t, paytest.Err3(b.Approvals.Confirm(ctx, order, by)), want, by.Name, "confirms")
		}
		b.MustWithdraw(t, "open", "u1", 10)
		ask("open", ledger.ActBack, ledger.ErrNotWaiting)
		w := b.LeaseOne(t)
		ask("open", ledger.ActPaid, ledger.ErrNotWaiting)
		testenv.Must(t, b.RecordDead(ctx, w, "silence"))
		paid := ask("open", ledger.ActPaid, nil)
		testenv.Equal(t, ask("open", ledger.ActPaid, nil), paid, "asked for twice: and")
		confirm(paid, ann, ledger.ErrSamePerson)
		confirm(paid, ledger.Person{Name: " ANN ", ID: "other"}, ledger.ErrSamePerson)
		ask("open", ledger.ActBack, nil) // another order
		b.Clock.Add(25 * time.Hour.Milliseconds())
		confirm(paid, bob, ledger.ErrApprovalOver)
		paid = ask("open", ledger.ActPaid, nil)
		testenv.Must(t, testenv.Err(b.Retry(ctx, "open")))
		confirm(paid, bob, ledger.ErrChangedMeanwhile) // it is being tried
		testenv.Must(t, b.RecordDead(ctx, b.LeaseOne(t), "silence"))
		confirm(paid, bob, ledger.ErrChangedMeanwhile) // it was requested before the retry
		b.WantBalance(t, booking.ClearingAccount("u1"), 10)
		paid = ask("open", ledger.ActPaid, nil)
		back := ask("open", ledger.ActBack, nil)
		confirm(paid, bob, nil)
		if w := b.WantWithdrawal(t, "open", ledger.WithdrawalPaid, 1); w.Dead || w.Reference != "theirs" {
			t.Errorf("%+v", w)
		}
		history, err := b.WithdrawalHistory(ctx, "open")
		if last := history[len(history)-1]; err != nil || last.Actor != "operator:bob" ||
			!strings.Contains(last.Reason, "asked for by ann") {
			t.Errorf("%+v, %v", last, err)
		}
		confirm(paid, bob, ledger.ErrApprovalOver)
		confirm(back, bob, ledger.ErrChangedMeanwhile)
		ask("open", ledger.ActPaid, ledger.ErrNotWaiting)

		late := b.MustSend(t, "back", "u1", 10)
		testenv.Must(t, b.RecordDead(ctx, late, "silence"))
		confirm(ask("back", ledger.ActBack, nil), bob, nil)
		b.WantWithdrawal(t, "back", ledger.WithdrawalReturned, 1)
		testenv.WantErr(t, b.RecordPaid(ctx, late, "x"), ledger.ErrPaidTwice, "its receiver says that it has paid")

		b.MustWithdraw(t, "held", "u1", 10)
		testenv.Must(t, b.Hold(ctx, "held", ann))
		ask("held", ledger.ActPaid, ledger.ErrNotWaiting)
		confirm(ask("held", ledger.ActBack, nil), bob, nil)
		b.WantBalance(t, booking.UserAccount("u1"), 90)
		b.WantBalance(t, booking.ClearingAccount("u1"), 0)
		testenv.Equal(t, b.CountDead(t), 0, "dead letters wait")
	})
}

// TestPendingOrders are those that can still be confirmed, each with its withdrawal.
func TestPendingOrders(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "withdrawal.back")
		b.Rich(t, "u1", 100)
		var all []ledger.Withdrawal
		want := func(asked map[string]ledger.Act) {
			t.Helper()
			for i, w := range all {
				all[i], _ = b.Withdrawal(ctx, w.ID)
			}
			got := testenv.Got(b.PendingOrders(ctx, all...)).Must(t)
			if len(got) != len(asked) {
				t.Errorf("pending are %+v, want %v", got, asked)
			}
			for id, what := range asked {
				if o := got[id]; o.Act != what || o.Asked.Name != "ann" || o.Asked.Reason != ann.Reason ||
					o.ExpiresAt != o.AskedAt+24*time.Hour.Milliseconds() || o.ID == "" {
					t.Errorf("%s: pending is %+v, want %s", id, o, what)
				}
			}
		}
		for _, id := range []string{"held", "dead", "open"} {
			b.MustWithdraw(t, id, "u1", 10)
			all = append(all, ledger.Withdrawal{ID: id})
		}
		testenv.Must(t, b.Hold(ctx, "held", ann))
		due := testenv.Got(b.LeaseDue(ctx, paytest.Bank, 1, time.Minute)).Must(t)
		testenv.Must(t, b.RecordDead(ctx, due[0], "silence"))
		want(map[string]ledger.Act{})
		for id, what := range map[string]ledger.Act{"held": ledger.ActBack, due[0].ID: ledger.ActPaid} {
			testenv.Must(t, testenv.Err(b.Approvals.Do(ctx, ledger.Deed{Act: what, Target: id}, ann)))
		}
		want(map[string]ledger.Act{"held": ledger.ActBack, due[0].ID: ledger.ActPaid})
		testenv.Must(t, testenv.Err(b.Retry(ctx, due[0].ID)))
		want(map[string]ledger.Act{"held": ledger.ActBack}) // something else has happened to the other
		b.Clock.Add(25 * time.Hour.Milliseconds())
		want(map[string]ledger.Act{})
	})
}

// TestOrdersAndAnswersAtOnce: two orders, a retry and the receiver's late answer come concurrently. The money moves
// once.
func TestOrdersAndAnswersAtOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const count = 8
		b.Rich(t, "u1", count*10)
		for i := range count {
			id := fmt.Sprintf("w%d", i)
			w := b.MustSend(t, id, "u1", 10)
			testenv.Must(t, b.RecordDead(t.Context(), w, "silence"))
			order := func(what ledger.Act) string {
				o := testenv.Got(b.Approvals.Do(t.Context(), ledger.Deed{Act: what, Target: id}, ann)).Must(t)
				return o.Pending.ID
			}
			back, paid := order(ledger.ActBack), order(ledger.ActPaid)
			confirm := func(order string) func() error {
				return func() error { _, _, err := b.Approvals.Confirm(t.Context(), order, bob); return err }
			}
			var wg sync.WaitGroup
			for _, do := range []func() error{
				func() error { return b.RecordPaid(t.Context(), w, "late") },
				confirm(back), confirm(back), confirm(paid), confirm(paid),
				func() error { _, err := b.Retry(t.Context(), id); return err },
			} {
				wg.Go(func() {
					if err := do(); err != nil && !errors.Is(err, ledger.ErrPaidTwice) &&
						!errors.Is(err, ledger.ErrChangedMeanwhile) && !errors.Is(err, ledger.ErrApprovalOver) &&
						!errors.Is(err, ledger.ErrUnknownClaim) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			is := testenv.Got(b.Withdrawal(t.Context(), id)).Must(t)
			ended := is.State == ledger.WithdrawalPaid || is.State == ledger.WithdrawalReturned
			if retried := !is.Dead && is.Attempts == 0 && is.State == ledger.WithdrawalSent; !ended && !retried {
				t.Errorf("%+v", is) // after an earlier retry the orders are void
			}
			if !ended {
				testenv.Must(t, b.RecordPaid(t.Context(), b.LeaseOne(t), "now"))
			}
		}
		b.WantBalance(t, booking.ClearingAccount("u1"), 0)
	})
}
