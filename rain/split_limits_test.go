package rain_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestCutAtTheLimits cuts the largest budget: nothing may overflow. TestAmountsAtTheLimits has the most packets.
func TestCutAtTheLimits(t *testing.T) {
	t.Parallel()
	for _, kind := range drawn {
		for _, packets := range []int{1, 2, rain.BlockPackets, 100_000} {
			mean := rain.MaxBudget / rain.Money(packets)
			for name, s := range map[string]rain.Spec{
				"no maximum":                       spec(kind, rain.MaxBudget, packets, 1, nil),
				"the largest number as maximum":    spec(kind, rain.MaxBudget, packets, 1, new(rain.Money(1<<63-1))),
				"a maximum a unit above the mean":  spec(kind, rain.MaxBudget, packets, 1, new(mean+1)),
				"nearly nothing above the minimum": spec(kind, rain.MaxBudget, packets, mean, nil),
			} {
				t.Run(fmt.Sprintf("%s, %d packets, %s", kind, packets, name), func(t *testing.T) {
					amounts := testenv.Got(s.Cut(seedOf(7))).Must(t)
					checkCut(t, &s, amounts)
				})
			}
		}
	}
}

// TestSpreadAtTheLimits moves the amounts of a block as far as the largest budget lets them: nothing may overflow where
// a Gaussian split adds up over all of them.
func TestSpreadAtTheLimits(t *testing.T) {
	t.Parallel()
	const (
		low  rain.Money = 1
		high            = 2 * rain.MaxBudget / rain.BlockPackets
	)
	amounts := make([]rain.Money, rain.BlockPackets)
	for _, rest := range []rain.Money{(high - low) * rain.BlockPackets, rain.MaxBudget, -rain.MaxBudget} {
		from := low
		if rest < 0 {
			from = high
		}
		for i := range amounts {
			amounts[i] = from
		}
		rain.Spread(amounts, rest, low, high, seedOf(7))
		total, err := rain.Sum(amounts)
		if want := from*rain.BlockPackets + rest; err != nil || total != want {
			t.Errorf("%d spread: the sum is %d (%v), want %d", rest, total, err, want)
		}
		part := from + rest/rain.BlockPackets
		if lo, hi := slices.Min(amounts), slices.Max(amounts); lo < part-1 || hi > part+1 || lo < low || hi > high {
			t.Errorf("%d spread: amounts from %d to %d, want %d", rest, lo, hi, part)
		}
	}
}

// TestCutHoldsTheAmountsOnce: 8 bytes a packet, and next to nothing else.
func TestCutHoldsTheAmountsOnce(t *testing.T) {
	const packets = 1_000_000
	for _, kind := range drawn {
		s := spec(kind, 100*packets, packets, 1, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		testenv.Must(t, testenv.Err(s.Cut(seedOf(1))))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > packets*82/10 {
			t.Errorf("%s: %d bytes for %d packets", kind, took, packets)
		}
	}
}
