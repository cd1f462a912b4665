package testenv

import (
	"time"
)

// slowest is how many times longer than usual a machine may take that has other work to do. A limit that is met costs
// nothing, so it is generous.
const slowest = 6

// Patiently is how long something is waited for that takes no longer than d on a quiet machine.
func Patiently(d time.Duration) time.Duration { return d * slowest }

// Eventually waits until cond is true. It asks on the test's goroutine, at most 200 times a second, and uses at most a
// tenth of a processor. It fails the test with what when that takes much longer than within, the time that it takes at
// most on a quiet machine. It is for matters outside this process; within it, a channel or testing/synctest is better.
func Eventually(t T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	within = Patiently(within)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		began := time.Now()
		if cond() {
			return
		}
		pause := min(max(5*time.Millisecond, 9*time.Since(began)), 250*time.Millisecond)
		select {
		case <-time.After(pause):
		case <-deadline.C:
			if !cond() { // it may have come true while this goroutine waited for its turn
				t.Fatalf("not within %v: %s", within, what)
			}
			return
		}
	}
}
