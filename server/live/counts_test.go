package live

import (
	"testing"
	"time"

	"redrain/grab"
)

// TestCounts: every result of the game is counted under its name, and what was not decided is no tap.
func TestCounts(t *testing.T) {
	if len(outcomeNumber) != tapOutcomes {
		t.Fatalf("%d outcomes are counted, there is room for %d", len(outcomeNumber), tapOutcomes)
	}
	count := NewCounts().Of("c")
	want := int64(0)
	for i, o := range grab.Outcomes {
		for range i + 1 {
			count.Tap(o, time.Millisecond)
		}
		if o != grab.Unavailable {
			want += int64(i + 1)
		}
	}
	by, sum := count.taps()
	if sum != want || len(by) != tapOutcomes || by[grab.Won] != 1 || by[grab.TooFast] != int64(tapOutcomes) {
		t.Errorf("%d taps, %v", sum, by)
	}
	if n := testing.AllocsPerRun(100, func() { count.Tap(grab.Empty, time.Millisecond) }); n > 0 {
		t.Errorf("counting a tap allocates %v times", n)
	}
}
