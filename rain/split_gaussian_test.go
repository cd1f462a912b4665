package rain_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

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

func TestNormalIsTheTruncatedNormal(t *testing.T) {
	t.Parallel()
	const reach = rain.Money(1) << 49
	src := rain.NewSource(seedOf(1), "test")
	values := make([]float64, 400_000)
	var all sample
	for i := range values {
		v := src.Normal(reach)
		if v <= -reach || v >= reach {
			t.Fatalf("%d is outside of the reach", v)
		}
		values[i] = float64(v) / float64(reach)
		all.add(values[i])
	}
	if d := kolmogorov(values, truncatedNormal); d > farKS {
		t.Errorf("no truncated normal distribution: %.2f", d)
	}
	if z := all.z(0); math.Abs(z) > tooFar {
		t.Errorf("the mean is %.1f standard errors from 0", z)
	}
	// The deviation of the deviation of n numbers like these is about 0.68 of the root of n in parts of it.
	if d := all.deviation()/truncatedDeviation - 1; math.Abs(d) > tooFar*0.68/math.Sqrt(all.n) {
		t.Errorf("the deviation is %.5f, not %.5f", all.deviation(), truncatedDeviation)
	}
}

// TestHeadsIsExponential: e^-x for some x, the largest and none among them.
func TestHeadsIsExponential(t *testing.T) {
	t.Parallel()
	const n = 400_000
	for _, x := range []float64{1.0 / 1024, 0.125, 0.5, 1} {
		src, heads := rain.NewSource(seedOf(2), "test"), 0
		in := uint64(math.MaxUint64)
		if x < 1 {
			in = uint64(x * (1 << 63) * 2)
		}
		for range n {
			if src.Heads(in) {
				heads++
			}
		}
		if z := shareZ(heads, n, math.Exp(-x)); math.Abs(z) > tooFar {
			t.Errorf("exp(-%v): %d of %d, %.1f standard errors away", x, heads, n, z)
		}
	}
	if src := rain.NewSource(seedOf(2), "test"); !src.Heads(0) {
		t.Error("exp(-0) is 1")
	}
}

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
			amounts, err := s.Cut(seedOf(4))
			if err != nil {
				t.Fatal(err)
			}
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

// TestGaussianOfFewUnits: where an amount is a few units, rounding adds its own sixth of a unit to the variance and
// moves no mean.
func TestGaussianOfFewUnits(t *testing.T) {
	t.Parallel()
	const packets = 200_000
	s := spec(rain.Gaussian, packets*20+packets/3, packets, 1, new(rain.Money(31)))
	amounts, err := s.Cut(seedOf(5))
	if err != nil {
		t.Fatal(err)
	}
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

// TestSpreadMovesEachByItsPart: exact, within the bounds, and nobody's part is a unit off its proportion.
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

// TestSpreadRoundsByChance: a unit among three goes to each as often.
func TestSpreadRoundsByChance(t *testing.T) {
	t.Parallel()
	got := make([]int, 3)
	for i := range 30_000 {
		amounts := []rain.Money{5, 5, 5}
		rain.Spread(amounts, -1, 1, 9, seedOf(i))
		got[slices.Index(amounts, 4)]++
	}
	if d := chiSquare(got); d > tooFar {
		t.Errorf("%v: %.1f deviations", fmt.Sprint(got), d)
	}
}

// TestGaussianKeepsAMaximumThatIsNoMultiple: where the maximum just lies in reach, rounding does not cross it.
func TestGaussianKeepsAMaximumThatIsNoMultiple(t *testing.T) {
	t.Parallel()
	s := spec(rain.Gaussian, 10, 3, 1, new(rain.Money(5)))
	for i := range 30_000 {
		amounts, err := s.Cut(seedOf(i))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Max(amounts) > 5 || slices.Min(amounts) < 1 {
			t.Fatalf("seed %d: %v", i, amounts)
		}
	}
}

// TestSpreadOfLargeAmounts: the running sum's product does not fit into 64 bits.
func TestSpreadOfLargeAmounts(t *testing.T) {
	t.Parallel()
	const high, rest = 1 << 60, 3<<60 + 5
	for i := range 200 {
		amounts := make([]rain.Money, 7)
		rain.Spread(amounts, rest, 0, high, seedOf(i))
		for _, a := range amounts {
			if a != rest/7 && a != rest/7+1 {
				t.Fatalf("seed %d: %v, each was to get %d", i, amounts, rest/7)
			}
		}
	}
}

// TestGaussianReachesItsBounds: where the mean is no whole number, too, the largest packet in reach comes up.
func TestGaussianReachesItsBounds(t *testing.T) {
	t.Parallel()
	s := spec(rain.Gaussian, 5, 3, 1, nil)
	for i := range 10_000 {
		amounts, err := s.Cut(seedOf(i))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Max(amounts) == 3 {
			return
		}
	}
	t.Error("of three packets none ever holds 3 of 5 units")
}
