package rain_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestCutAtTheLimits cuts the largest budget: nothing may overflow. TestAmountsAtTheLimits has the most packets.
func TestCutAtTheLimits(t *testing.T) {
	t.Parallel()
	const many = 100_000
	for _, tc := range []struct {
		name    string
		kind    rain.SplitKind
		packets int
		least   rain.Money
		most    *rain.Money
	}{
		{"many packets, maximum of one unit above the mean", rain.DoubleMean, 10 * many, 1,
			new(rain.MaxBudget/(10*many) + 1)},
		{"a whole block", rain.DoubleMean, rain.BlockPackets, 1, nil},
		{"no maximum", rain.DoubleMean, many, 1, nil},
		{"nothing above the minimum", rain.DoubleMean, many, rain.MaxBudget / many, nil},
		{"the largest number as maximum", rain.DoubleMean, many, 1, new(rain.Money(math.MaxInt64))},
		{"low variance", rain.LowVariance, many, 1, nil},
		{"low variance, two packets", rain.LowVariance, 2, 1, new(rain.Money(math.MaxInt64))},
		{"gaussian, no maximum", rain.Gaussian, many, 1, nil},
		{"gaussian, maximum of one unit above the mean", rain.Gaussian, many, 1, new(rain.MaxBudget/many + 1)},
		{"gaussian, the largest number as maximum", rain.Gaussian, many, 1, new(rain.Money(math.MaxInt64))},
		{"gaussian, nothing above the minimum", rain.Gaussian, many, rain.MaxBudget / many, nil},
		{"gaussian, one packet", rain.Gaussian, 1, 1, nil},
		{"gaussian, two packets", rain.Gaussian, 2, 1, new(rain.Money(math.MaxInt64))},
		{"even", rain.Even, many, 1, nil},
		{"one packet", rain.DoubleMean, 1, 1, nil},
		{"two packets", rain.DoubleMean, 2, 1, new(rain.Money(math.MaxInt64))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := spec(tc.kind, rain.MaxBudget, tc.packets, tc.least, tc.most)
			amounts, err := s.Cut(seedOf(7))
			must(t, err)
			total, err := rain.Sum(amounts)
			if err != nil || total != s.Budget {
				t.Fatalf("the sum is %d (%v)", total, err)
			}
			if lo, hi := slices.Min(amounts), slices.Max(amounts); lo < s.Min || (s.Max != nil && hi > *s.Max) {
				t.Fatalf("amounts from %d to %d", lo, hi)
			}
		})
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
