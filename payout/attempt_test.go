package payout

import (
	"context"
	"errors"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/rain"
)

func TestAttemptsAreCounted(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		allow := b.refuse(t, "poison")
		bad := entry("c1", 1, win("poison", 0, 10), win("good", 1, 10))
		for n := 1; n <= 3; n++ {
			_, err := b.Post(ctx, []rain.Entry{bad})
			if !sqldb.IsRefused(err) {
				t.Fatalf("not refused: %v", err)
			}
			tried, err := b.Attempt(ctx, bad, err, 3)
			if err != nil || tried.Attempts != n || tried.GivenUp != (n == 3) ||
				len(tried.Dead) != map[bool]int{true: 2}[n == 3] {
				t.Errorf("try %d: %+v, %v", n, tried, err)
			}
			want := StateFailed
			if n == 3 {
				want = StateDead
			}
			if got := b.state(t, "poison", "c1-0"); got != want {
				t.Errorf("after try %d the claim is %s", n, got)
			}
			if failing, err := b.Failing(ctx, []rain.EntryRef{bad.Ref}); err != nil || failing[bad.Ref] != (n < 3) {
				t.Errorf("after try %d: %v, %v", n, failing, err)
			}
		}
		if got := b.state(t, "somebody else", "c1-0"); got != StateGranted {
			t.Errorf("somebody else's claim is %s", got)
		}
		letters, _, err := b.ListDeadLetters(ctx, "", 10)
		if err != nil || len(letters) != 2 || !strings.Contains(letters[0].Reason, "3 tries") ||
			!strings.Contains(letters[0].Reason, "no money for you") {
			t.Errorf("%+v, %v", letters, err)
		}
		// A copy that comes late is a posted one: the letters stand for it.
		if posted := b.post(t, bad); len(posted.Settled) != 0 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		if _, err := b.Retry(ctx, "c1-0"); !errors.Is(err, ErrStillDead) ||
			!strings.Contains(err.Error(), "no money for you") {
			t.Error(err)
		}
		if settled, err := b.Retry(ctx, "c1-1"); err != nil || len(settled) != 1 {
			t.Error(settled, err)
		}
		b.wantBalance(t, escrowAccount("c1"), 90)
		allow()
		if settled, err := b.Retry(ctx, "c1-0"); err != nil || len(settled) != 1 || settled[0].Balance != 10 {
			t.Error(settled, err)
		}
		if letters, _, err := b.Dead(ctx, "c1"); err != nil || letters != 0 {
			t.Errorf("%d letters are said to wait (%v), and all are dealt with", letters, err)
		}
		if n := b.count(t, "SELECT COUNT(*) FROM attempt") + b.count(t, "SELECT COUNT(*) FROM attempt_claim"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		b.audit(t)
	})
}

// TestGivingUpKnowsWhatIsPosted: what a copy has brought into the ledger meanwhile is not buried, and what was
// buried in the same moment is resolved without moving money.
func TestGivingUpKnowsWhatIsPosted(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		e := entry("c1", 1, win("a", 0, 10), win("b", 1, 10))
		if _, err := b.Attempt(ctx, e, errors.New("a bug"), 2); err != nil {
			t.Fatal(err)
		}
		b.post(t, entry("c1", 1, win("a", 0, 10)))
		if got := b.state(t, "a", "c1-0"); got != StateSettled {
			t.Errorf("a paid claim is %s", got)
		}
		tried, err := b.Attempt(ctx, e, errors.New("a bug"), 2)
		if err != nil || !tried.GivenUp || len(tried.Dead) != 1 || tried.Dead[0].User != "b" {
			t.Errorf("%+v, %v", tried, err)
		}
		at, _, _, _ := (&batch{}).place(e)
		late := winLetter(e.Ref, e.Wins[0], at, "buried while a copy was posted")
		err = b.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			return writeLetters(ctx, tx,
				[]DeadLetter{late}, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.RefreshMetrics(ctx); err != nil {
			t.Fatal(err)
		}
		if n := b.deadLetters(t); n != 1 {
			t.Errorf("%d letters wait, %v", n, err)
		}
		b.wantBalance(t, userAccount("a"), 10)
		// What was settled elsewhere is forgotten after a day.
		if _, err := b.Attempt(ctx, entry("c1", 7, win("c", 2, 1)), errors.New("a bug"), 2); err != nil {
			t.Fatal(err)
		}
		b.clock.now.Add(attemptKept + 1000)
		if _, err := b.Attempt(ctx, entry("c1", 8, win("d", 3, 1)), errors.New("a bug"), 2); err != nil {
			t.Fatal(err)
		}
		if n := b.count(t, "SELECT COUNT(*) FROM attempt_claim"); n != 1 {
			t.Errorf("%d rows are kept", n)
		}
		b.audit(t)
	})
}
