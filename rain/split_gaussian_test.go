package rain_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// truncatedNormal is the distribution function of the normal distribution that is cut off at three deviations,
// which are 1.
func truncatedNormal(x float64) float64 {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	return (phi(3*x) - phi(-3)) / (phi(3) - phi(-3))
}

// truncatedDeviation is its deviation: 0.3289.
var truncatedDeviation = math.Sqrt(1-6*math.Exp(-4.5)/math.Sqrt(2*math.Pi)/math.Erf(3/math.Sqrt2)) / 3

// TestGaussianHasItsShape holds the packets of one split, after all that makes them add up, to the distribution.
func TestGaussianHasItsShape(t *testing.T) {
	t.Parallel()
	const packets, mean = 100_000, 1_000_000
	for _, tc := range []struct {
		name  string
		least rain.Money
		most  *rain.Money
		reach float64
	}{
		{"no maximum", 1, nil, mean - 1},
		{"a far maximum", 1, new(rain.Money(1) << 62), mean - 1},
		{"the maximum at twice the mean", 1, new(rain.Money(2 * mean)), mean - 1},
		{"bounds alike", 600_000, new(rain.Money(1_400_000)), 400_000},
		{"the minimum is near", 900_000, new(rain.Money(9_000_000)), 100_000},
		{"the maximum is near", 1, new(rain.Money(1_050_000)), 50_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := spec(rain.Gaussian, packets*mean, packets, tc.least, tc.most)
			amounts := testenv.Got(s.Cut(seedOf(4))).Must(t)
			checkCut(t, &s, amounts)
			values := make([]float64, packets)
			for i, a := range amounts {
				values[i] = float64(a-mean) / tc.reach
			}
			if lo, hi := slices.Min(values), slices.Max(values); lo < -1 || hi > 1 || lo > -0.9 || hi < 0.9 {
				t.Errorf("from %.3f to %.3f of the reach", lo, hi)
			}
			if d := kolmogorov(values, truncatedNormal); d > farKS {
				t.Errorf("no truncated normal distribution: %.2f", d)
			}
		})
	}
}

// TestGaussianOfFewUnits: if an amount is a few units, rounding adds its own sixth of a unit to the variance and moves
// no mean.
func TestGaussianOfFewUnits(t *testing.T) {
	t.Parallel()
	const packets = 200_000
	s := spec(rain.Gaussian, packets*20+packets/3, packets, 1, new(rain.Money(31)))
	amounts := testenv.Got(s.Cut(seedOf(5))).Must(t)
	checkCut(t, &s, amounts)
	var all sample
	for _, a := range amounts {
		all.add(float64(a))
	}
	reach := 31 - float64(s.Budget)/packets
	want := math.Sqrt(math.Pow(reach*truncatedDeviation, 2) + 1.0/6)
	if got := all.deviation(); math.Abs(got/want-1) > tooFar*0.7/math.Sqrt(packets) {
		t.Errorf("the deviation is %.4f, not %.4f", got, want)
	}
}

// TestGaussianOfFewPackets: to add up, the packets of a small split have to yield more, and do so alike.
func TestGaussianOfFewPackets(t *testing.T) {
	t.Parallel()
	const mean, trials = 100_000, 20_000
	for packets, atLeast := range map[int]float64{2: 0.4, 5: 0.75, 10: 0.85, 100: 0.95} {
		var all sample
		for i := range trials {
			all.add(float64(rain.Draw(rain.Gaussian, packets, mean*rain.Money(packets), 1, nil, seedOf(i))[0]))
		}
		if part := all.deviation() / (mean * truncatedDeviation); part < atLeast || part > 1 {
			t.Errorf("of %d packets the first has %.3f of the deviation", packets, part)
		}
	}
}

// TestSpreadMovesEachByItsPart: the sum is exact and within the bounds, and no part is a unit off its proportion.
func TestSpreadMovesEachByItsPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Int64Range(0, 1<<40).Draw(t, "low")
		high := low + rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 1<<50)).Draw(t, "width")
		before := rapid.SliceOfN(rapid.Map(rapid.Int64Range(low, high), toMoney), 1, 100).Draw(t, "amounts")
		sum, n := int64(0), int64(len(before))
		for _, a := range before {
			sum += int64(a)
		}
		rest := rapid.Int64Range(low*n-sum, high*n-sum).Draw(t, "rest")
		after := slices.Clone(before)
		rain.Spread(after, rain.Money(rest), rain.Money(low), rain.Money(high), genSeed().Draw(t, "seed"))
		left := rest
		for i := range after {
			moved := int64(after[i] - before[i])
			left -= moved
			if int64(after[i]) < low || int64(after[i]) > high {
				t.Fatalf("%d became %d, outside %d … %d", before[i], after[i], low, high)
			}
			room := float64(high - int64(before[i]))
			all := float64(high*n - sum)
			if rest < 0 {
				room, all = float64(int64(before[i])-low), float64(sum-low*n)
			}
			if want := float64(rest) * room / max(all, 1); math.Abs(float64(moved)-want) > 1+math.Abs(want)*1e-12 {
				t.Fatalf("%d was moved by %d, not %.2f", before[i], moved, want)
			}
		}
		if left != 0 {
			t.Fatalf("%d of %d is left", left, rest)
		}
	})
}

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

// TestSpreadAtTheLimits moves the amounts of a block as far as the largest budget lets them. The sums of a Gaussian
// split over all of them may not overflow.
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
