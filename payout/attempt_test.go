package payout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
)

// refuse makes the database refuse every payout to a player; allow undoes it.
func (b *books) refuse(t testing.TB, user string) (allow func()) {
	t.Helper()
	trigger := "CREATE TRIGGER poison BEFORE INSERT ON payout WHEN NEW.user_id = '" + user + "' BEGIN SELECT RAISE(ABORT, 'no money for you'); END"
	if b.db.Dialect() == sqldb.MySQL {
		trigger = "CREATE TRIGGER poison BEFORE INSERT ON payout FOR EACH ROW IF NEW.user_id = '" + user +
			"' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no money for you'; END IF"
	}
	b.statement(t, trigger)
	return func() { b.statement(t, "DROP TRIGGER poison") }
}

func (b *books) statement(t testing.TB, statement string) {
	t.Helper()
	err := b.db.InTx(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *books) state(t testing.TB, user, claim string) ClaimState {
	t.Helper()
	states, err := b.ClaimStates(context.Background(), user, []string{claim})
	if err != nil {
		t.Fatal(err)
	}
	return states[claim]
}

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
		letters, _, err := b.DeadLetters(ctx, "", 10)
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
		if n, err := b.countDead(ctx); n != 1 || err != nil {
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

// TestPoisonHoldsUpNobody: one player whom the database refuses, among hundreds of entries in the same batches. The
// others are all settled while that one is still being tried; then it becomes a dead letter, and can be redriven.
func TestPoisonHoldsUpNobody(t *testing.T) {
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p := back(t)
			c := p.campaign(t, "c1", rain.Spec{Budget: 4000, Packets: 400})
			p.redis.open(c)
			allow := p.refuse(t, "poison")
			for i := range 400 {
				user := fmt.Sprintf("u%d", i)
				if i == 123 {
					user = "poison"
				}
				p.redis.win("c1", 0, user)
			}
			entries, err := p.redis.Read(t.Context(), "c1", 0, "test", 1000)
			if err != nil {
				t.Fatal(err)
			}
			p.publish(t, 1, entries...)
			stop := p.node(t, RelayOptions{Patience: time.Hour}, SettlerOptions{Attempts: 1_000_000})
			p.others(t, c, 399)
			testenv.Eventually(t, time.Minute, "the poisoned claim is failed", func() bool {
				return p.state(t, "poison", "c1-123") == StateFailed
			})
			stop()
			p.node(t, RelayOptions{Patience: time.Hour}, SettlerOptions{Attempts: 3})
			if d := <-p.dead; d.User != "poison" || !strings.Contains(d.Reason, "no money for you") {
				t.Errorf("%+v", d)
			}
			testenv.Eventually(t, time.Minute, "the outbox is empty", func() bool { return p.redis.waiting() == 0 })
			if info := p.consumer(t); info.NumPending != 0 || info.NumAckPending != 0 {
				t.Errorf("messages are left: %+v", info)
			}
			if got := p.reconcile(t, c, p.redis.snapshot(c)); !got.Balanced || got.Dead != 10 {
				t.Errorf("%+v", got)
			}
			allow()
			if settled, err := p.Retry(t.Context(), "c1-123"); err != nil || len(settled) != 1 {
				t.Errorf("%+v, %v", settled, err)
			}
			p.wantBalance(t, userAccount("poison"), 10)
			p.audit(t)
		})
	}
}

// others waits until everything but the poisoned entry is settled.
func (p *pipeline) others(t *testing.T, c *rain.Campaign, n int64) {
	t.Helper()
	testenv.Eventually(t, time.Minute, fmt.Sprintf("%d others are paid", n), func() bool {
		paid, _, err := p.Paid(t.Context(), c.ID)
		return err == nil && paid == n && p.redis.waiting() == 1
	})
}

// TestAnOutageCountsNothing: an unreachable database is nobody's fault.
func TestAnOutageCountsNothing(t *testing.T) {
	p := inProcess(t)
	c := p.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	p.redis.open(c)
	p.redis.win("c1", 0, "u1")
	entries, err := p.redis.Read(t.Context(), "c1", 0, "test", 100)
	if err != nil {
		t.Fatal(err)
	}
	p.publish(t, 1, entries...)
	tries := make(chan struct{}, 100)
	down := true
	p.settler(t, SettlerOptions{Workers: 1, Attempts: 1}, func([]rain.Entry) error {
		tries <- struct{}{}
		if len(tries) > 3 {
			down = false
		}
		if down {
			return fmt.Errorf("no database: %w", context.DeadlineExceeded)
		}
		return nil
	})
	p.eventuallySettled(t, time.Minute, c, 1)
	if n := p.count(t, "SELECT COUNT(*) FROM attempt") + p.count(t, "SELECT COUNT(*) FROM dead_letter"); n != 0 ||
		len(tries) < 4 {
		t.Errorf("%d rows after %d tries", n, len(tries))
	}
}
