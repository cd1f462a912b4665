package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestLease(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		lease := func(name, holder string, want bool) {
			t.Helper()
			if held, err := b.Lease(t.Context(), name, holder, time.Minute); held != want || err != nil {
				t.Errorf("%s asks for %q: held %v, want %v, %v", holder, name, held, want, err)
			}
		}
		lease("job", "a", true)
		lease("job", "b", false)
		lease("another job", "b", true)
		b.Clock.Add(40_000)
		lease("job", "a", true) // renewed: its time begins anew
		b.Clock.Add(40_000)
		lease("job", "b", false)
		b.Clock.Add(20_000)
		lease("job", "b", true) // expired
		lease("job", "a", false)
		for _, holder := range []string{"a", "b"} {
			if err := b.ReleaseLease(t.Context(), "job", holder); err != nil {
				t.Error(err)
			}
			lease("job", "c", holder == "b") // who does not hold it cannot give it away
		}
	})
}

// TestOneHolderAtATime: holders that work, give up, or die without a word. The clock is frozen while one works, so
// that nobody can have waited for its time to run out.
func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		var now atomic.Int64
		now.Store(1_763_712_000_000)
		b.Leases = ledger.New(b.DB, now.Load, rain.NewAmountsCache()).Leases
		var inside, held, died atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for round := range 30 {
					holder := fmt.Sprintf("node-%d-%d", i, round)
					got, err := b.Lease(t.Context(), "job", holder, time.Minute)
					if err != nil {
						t.Error(err)
					}
					if !got {
						continue
					}
					held.Add(1)
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d holders at one time", n)
					}
					if again, err := b.Lease(t.Context(), "job", holder, time.Minute); !again || err != nil {
						t.Errorf("it cannot be renewed: %v, %v", again, err)
					}
					inside.Add(-1)
					if round%2 == 0 {
						died.Add(1)
						// nobody else holds it: this moves nobody's time but its own
						now.Add(time.Minute.Milliseconds())
						continue
					}
					if err := b.ReleaseLease(t.Context(), "job", holder); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if held.Load() < 2 || died.Load() == 0 {
			t.Errorf("held %d times, %d of them died: the test has tested nothing", held.Load(), died.Load())
		}
	})
}
