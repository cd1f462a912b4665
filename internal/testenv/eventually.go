package testenv

import (
	"time"
)

// Eventually waits until cond is true, asking every few milliseconds on the test's goroutine, and fails the test with
// what when that takes longer than within. It is for matters outside this process; within it, a channel or
// testing/synctest is better.
func Eventually(t T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			if !cond() { // it may have come true while this goroutine waited for its turn
				t.Fatalf("not within %v: %s", within, what)
			}
			return
		}
	}
}
