package live

import (
	"testing"
	"time"

	"redrain/grab/outcome"
)

// TestCounts: every result of a tap is counted under its name. An undecided tap is not counted.
func TestCounts(t *testing.T) {
	count := NewCounts().Of("c")
	want := int64(0)
	count.Tap(outcome.Unavailable, time.Millisecond)
	for i, o := range outcome.Decided() {
		for range i + 1 {
			count.Tap(o, time.Millisecond)
		}
		want += int64(i + 1)
	}
	by, sum := count.taps()
	if sum != want || len(by) != 9 || by[outcome.Won] != 1 || by[outcome.TooFast] != 9 {
		t.Errorf("%d taps, %v", sum, by)
	}
	if n := testing.AllocsPerRun(100, func() { count.Tap(outcome.Empty, time.Millisecond) }); n > 0 {
		t.Errorf("counting a tap allocates %v times", n)
	}
}
