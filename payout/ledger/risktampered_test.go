package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/history"
	"redrain/payout/paytest"
)

// meanwhile has something done once, just before the database is sent the nth statement that begins so from then on.
func meanwhile(b *paytest.Books, statement string, nth int64, do func()) {
	var heard atomic.Int64
	b.DB.Heard = func(text string, _ []any) {
		if strings.HasPrefix(text, statement) && heard.Add(1) == nth {
			do()
		}
	}
}

// A held win that somebody has changed by hand stays as it is, and who decided is told so; all others that were asked
// for are decided about. Nobody is trusted for what was done by hand.
func TestATamperedHeldWinHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		l, entries := heldBooks(b)
		if _, err := l.Poster.Post(ctx, entries); err != nil {
			t.Fatal(err)
		}
		is := &heldTest{t, b}
		sponsor := sponsorsMoney(b)
		lines := func() int { return b.Count(t, "SELECT COUNT(*) FROM history WHERE thing = 'c-2'") }
		wants := func(done ledger.Decided, err error, released int, states ...ledger.HeldState) {
			t.Helper()
			var got []ledger.HeldState
			for _, w := range done.Wins {
				got = append(got, w.State)
			}
			if err != nil || !slices.Equal(got, states) || len(done.Released) != released ||
				!slices.Equal(done.Left, claims(2)) {
				t.Errorf("%+v, %v", done, err)
			}
			if n := b.Count(t, "SELECT COUNT(*) FROM verdict WHERE user_id = 'thief'"); n != 0 {
				t.Errorf("%d verdicts let the thief play", n)
			}
			if n := lines(); n != 1 {
				t.Errorf("the history of what was changed has %d lines", n)
			}
		}
		b.Statement(t, "UPDATE held SET user_id = 'thief' WHERE claim = 'c-2'")
		done, err := l.Risk.Release(ctx, claims(1, 2, 4), looker)
		wants(done, err, 2, ledger.HeldReleased, ledger.HeldOpen, ledger.HeldReleased)

		// Of what is left nothing can be decided about.
		for _, decide := range []func() (ledger.Decided, error){
			func() (ledger.Decided, error) { return l.Risk.Release(ctx, claims(1, 2), looker) },
			func() (ledger.Decided, error) { return l.Risk.Confirm(ctx, claims(2), looker) },
		} {
			if done, err := decide(); !errors.Is(err, history.ErrTampered) || len(done.Wins) != 0 {
				t.Errorf("%+v, %v", done, err)
			}
		}

		// As if it had been released.
		b.Statement(t, "UPDATE held SET state = 'released' WHERE claim = 'c-2'")
		done, err = l.Risk.Release(ctx, claims(1, 2), looker)
		wants(done, err, 0, ledger.HeldReleased, ledger.HeldReleased)

		b.Statement(t, "UPDATE held SET state = 'held', user_id = 'bot' WHERE claim = 'c-2'")
		is.balances(30, 10, sponsor)
		if done, err := l.Risk.Confirm(ctx, claims(1, 2), looker); err != nil || len(done.Left) > 0 ||
			done.Wins[1].State != ledger.HeldConfirmed {
			t.Errorf("put right: %+v, %v", done, err)
		}
		is.balances(30, 0, sponsor+10)
	})
}

// A win that somebody decides about while it is read was changed by nobody else: it counts as decided.
func TestAWinIsDecidedWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t) // SQLite has one writer
	b.T = t
	l, entries := heldBooks(b)
	if _, err := l.Poster.Post(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	decided := false
	meanwhile(b, "SELECT h.thing", 1, func() {
		decided = true
		_, err := l.Risk.Confirm(t.Context(), claims(2), looker)
		paytest.Must(t, err)
	})
	done, err := l.Risk.Release(t.Context(), claims(1, 2), looker)
	if err != nil || !decided || len(done.Left) > 0 || len(done.Released) != 1 ||
		done.Wins[1].State != ledger.HeldConfirmed {
		t.Errorf("%+v, %v", done, err)
	}
	b.CheckBooks(t)
}
