package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
)

// A pause grows from the first to the longest, and is never below half of that.
func TestBackoffGrows(t *testing.T) {
	t.Parallel()
	for try, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 3: 8 * time.Second,
		4: 10 * time.Second, 29: 10 * time.Second, 30: 10 * time.Second, 1000: 10 * time.Second} {
		for range 100 {
			if got := loop.Backoff(time.Second, 10*time.Second, try); got < want/2 || got > want {
				t.Fatalf("the pause of try %d is %v, want %v to %v", try, got, want/2, want)
			}
		}
	}
}

// A sleep ends with its time or with its context, and says which.
func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if began := time.Now(); !loop.Sleep(ctx, time.Second) || time.Since(began) != time.Second {
			t.Errorf("a sleep of 1 s took %v", time.Since(began))
		}
		if began := time.Now(); loop.Sleep(ctx, time.Hour) || time.Since(began) != 59*time.Second {
			t.Errorf("a sleep whose context ended after 59 s took %v", time.Since(began))
		}
	})
}

// Graceful work goes on for its grace after its parent has ended, and no longer.
func TestGracefulOutlivesItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		ctx, cancel := loop.Graceful(parent, 5*time.Second)
		defer cancel()
		end()
		began := time.Now()
		if !loop.Sleep(ctx, 4*time.Second) {
			t.Error("it ended within its grace")
		}
		<-ctx.Done()
		testenv.Equal(t, time.Since(began), 5*time.Second, "it ended after")
	})
}
