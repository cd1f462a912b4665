package ledger_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestLease(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Leases = ledger.New(b.DB, b.Clock.Load, rain.NewAmountsCache()).Leases // with a clock that stands still
		lease := func(name, holder string, want bool) {
			t.Helper()
			is, err := b.Lease(t.Context(), name, holder, time.Minute)
			if is.Held() != want || is.Displaced != "" || err != nil {
				t.Errorf("%s asks for %q: %+v, want %v, %v", holder, name, is, want, err)
			}
		}
		lease("job", "a", true)
		lease("job", "b", false)
		lease("another job", "b", true)
		b.Clock.Add(40_000)
		lease("job", "a", true) // renewed: its time begins again
		b.Clock.Add(40_000)
		lease("job", "b", false)
		b.Clock.Add(19_999)
		lease("job", "b", false)
		b.Clock.Add(1)
		lease("job", "b", true) // expired
		lease("job", "a", false)
		for _, holder := range []string{"a", "b"} {
			testenv.Must(t, b.ReleaseLease(t.Context(), "job", holder))
			lease("job", "c", holder == "b") // who does not hold it cannot give it away
		}
	})
}

// TestAProbe: it writes, and leaves nothing.
func TestAProbe(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		for range 2 {
			testenv.Must(t, b.Leases.Probe(t.Context(), "a"))
		}
		var leases int
		testenv.Must(t, testenv.Err(b.DB.First(t.Context(), []any{&leases}, "SELECT COUNT(*) FROM lease")))
		testenv.Equal(t, leases, 0, "leases")
	})
}

// TestALeaseOfTheFuture: a lease with an end too far ahead (tampered row, wrong clock) blocks other nodes no longer
// than a valid one.
func TestALeaseOfTheFuture(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Leases = ledger.New(b.DB, b.Clock.Load, rain.NewAmountsCache()).Leases
		now := b.Clock.Load()
		for _, c := range []struct {
			ends  int64
			taken bool
		}{
			{now + 61_000, false}, // a clock that is a second fast
			{now + 61_001, true},
			{1<<63 - 1, true},
		} {
			testenv.Must(t, testenv.Err(b.Lease(t.Context(), "job", "a", time.Minute)))
			b.Statement(t, "UPDATE lease SET expires_at = "+strconv.FormatInt(c.ends, 10))
			is, err := b.Lease(t.Context(), "job", "b", time.Minute)
			if is.Held() != c.taken || (is.Displaced == "a") != c.taken || err != nil {
				t.Errorf("one that ends in %d ms: %+v, %v", c.ends-now, is, err)
			}
			for _, holder := range []string{"a", "b"} {
				testenv.Must(t, b.ReleaseLease(t.Context(), "job", holder))
			}
		}
	})
}

// TestAFrozenHolderWakesUp: after another node had the lease, the old holder's writes fail, even if it has the lease
// again.
func TestAFrozenHolderWakesUp(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		take := func(holder string) context.Context {
			is, err := b.Lease(ctx, "job", holder, time.Minute)
			if !is.Held() || err != nil {
				t.Fatalf("%s: %+v, %v", holder, is, err)
			}
			return b.UnderTerm(ctx, "job", is.Term)
		}
		writes := func(work context.Context) error {
			_, err := b.Sponsors.Deposit(work, "acme", rand.Text(), 1)
			return err
		}
		frozen := take("a")
		testenv.Must(t, writes(frozen))
		b.Clock.Add(time.Minute.Milliseconds())
		other := take("b")
		testenv.WantErr(t, writes(frozen), ledger.ErrLeaseTaken, "after another has taken over")
		testenv.Must(t, b.ReleaseLease(ctx, "job", "b"))
		again := take("a")
		for who, work := range map[string]context.Context{"the frozen one": frozen, "one that was released": other} {
			testenv.WantErr(t, writes(work), ledger.ErrLeaseTaken, who, "while the first has it again")
		}
		testenv.Must(t, writes(again))
		b.Statement(t, "DELETE FROM lease")
		testenv.WantErr(t, writes(again), ledger.ErrLeaseTaken, "under a lease that is gone")
	})
}

// TestOneHolderAtATime: holders that work, release, or die. The clock is frozen while one works, so no other can have
// waited for the end of its lease.
func TestOneHolderAtATime(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		var now atomic.Int64
		now.Store(1_763_712_000_000)
		b.Leases = ledger.New(b.DB, now.Load, rain.NewAmountsCache()).Leases
		var inside, held, died atomic.Int64
		paytest.Together(8, func(i int) {
			for round := range 30 {
				holder := fmt.Sprintf("node-%d-%d", i, round)
				got, err := b.Lease(t.Context(), "job", holder, time.Minute)
				testenv.WantErr(t, err, nil)
				if !got.Held() {
					continue
				}
				held.Add(1)
				testenv.Equal(t, inside.Add(1), 1, "holders at one time")
				testenv.Got(b.Lease(t.Context(), "job", holder, time.Minute)).Want(t, got, "it cannot be renewed")
				inside.Add(-1)
				if round%2 == 0 {
					died.Add(1)
					// no other node holds the lease, so only this holder's time passes
					now.Add(time.Minute.Milliseconds())
					continue
				}
				testenv.WantErr(t, b.ReleaseLease(t.Context(), "job", holder), nil)
			}
		})
		if held.Load() < 2 || died.Load() == 0 {
			t.Errorf("held %d times, %d of them died: the test has tested nothing", held.Load(), died.Load())
		}
	})
}

// TestWhoFreezesBeforeItLooks: leases and requests that others begin meanwhile have later times than the frozen
// node's clock. They are not in the future, and stay valid.
func TestWhoFreezesBeforeItLooks(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t)
	others := ledger.New(b.DB, b.Clock.Load, rain.NewAmountsCache())
	meanwhile := func() {}
	freezes := func() int64 { // once, right after it has read the clock
		now, others := b.Clock.Load(), meanwhile
		meanwhile = func() {}
		others()
		return now
	}
	frozen := ledger.New(b.DB, freezes, rain.NewAmountsCache())
	must := func(err error) {
		t.Helper()
		testenv.Must(t, err)
	}
	_, err := others.Leases.Lease(t.Context(), "job", "a", time.Minute)
	must(err)
	meanwhile = func() {
		b.Clock.Add(30_000)
		_, err := others.Leases.Lease(t.Context(), "job", "a", time.Minute)
		must(err)
	}
	is, err := frozen.Leases.Lease(t.Context(), "job", "b", time.Minute)
	if is.Held() || is.Displaced != "" || err != nil {
		t.Errorf("%+v, %v", is, err)
	}

	_, err = frozen.Answers.Begin(t.Context(), "another", nil) // it prunes, and so reads the clock again
	must(err)
	meanwhile = func() {
		meanwhile = func() {
			b.Clock.Add(30_000)
			_, err := others.Answers.Begin(t.Context(), "key", nil)
			must(err)
		}
	}
	testenv.WantErr(t, testenv.Err(frozen.Answers.Begin(t.Context(), "key", nil)), ledger.ErrIdempotencyBusy,
		"the request of others")
}
