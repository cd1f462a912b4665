package rain_test

import (
	"math"
	"slices"
	"testing"

	"redrain/rain"
)

// TestLowVarianceIsAShareAndAPartOfOne: eleven shares for ten packets; the first draw is one share and uniform up
// to twice a tenth of another.
func TestLowVarianceIsAShareAndAPartOfOne(t *testing.T) {
	t.Parallel()
	counts := make([]int, 201)
	for i := range 40_000 {
		a := rain.Draw(rain.LowVariance, 10, 11_000, 1, nil, seedOf(i))[0]
		if a < 1_000 || a > 1_200 {
			t.Fatalf("the first packet is %d, outside 1,000 … 1,200", a)
		}
		counts[a-1_000]++
	}
	if d := chiSquare(counts); d > tooFar {
		t.Errorf("not uniform: %.1f deviations", d)
	}
}

// TestLowVarianceVariesLess: with N packets its deviation is the (N+1)th part of that of double mean.
func TestLowVarianceVariesLess(t *testing.T) {
	t.Parallel()
	for _, packets := range []int{2, 10, 100} {
		deviation := func(kind rain.SplitKind) float64 {
			s := spec(kind, 1_000_000*rain.Money(packets), packets, 1, nil)
			var all sample
			for i := range 200_000 / packets {
				amounts, err := s.Cut(seedOf(i))
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range amounts {
					all.add(float64(a))
				}
			}
			return all.deviation()
		}
		got, want := deviation(rain.LowVariance), deviation(rain.DoubleMean)/float64(packets+1)
		if math.Abs(got/want-1) > 0.02 {
			t.Errorf("%d packets: the deviation is %.0f, not %.0f", packets, got, want)
		}
	}
}

// TestLowVarianceBetweenBounds: a minimum above the share is where the packets begin, and a maximum cuts both ends.
func TestLowVarianceBetweenBounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		least    rain.Money
		most     *rain.Money
		from, to rain.Money // what the first packet may be, of 1,100 on average
	}{
		{"no bounds", 1, nil, 1_000, 1_200},
		{"the minimum above the share", 1_050, nil, 1_050, 1_150},
		{"a maximum", 1, new(rain.Money(1_130)), 1_070, 1_130},
		{"both", 1_090, new(rain.Money(1_200)), 1_090, 1_110},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			counts := make([]int, tc.to-tc.from+1)
			for i := range 20_000 {
				a := rain.Draw(rain.LowVariance, 10, 11_000, tc.least, tc.most, seedOf(i))[0]
				if a < tc.from || a > tc.to {
					t.Fatalf("the first packet is %d, outside %d … %d", a, tc.from, tc.to)
				}
				counts[a-tc.from]++
			}
			if d := chiSquare(counts); d > tooFar || slices.Min(counts) == 0 {
				t.Errorf("not uniform: %.1f deviations", d)
			}
		})
	}
}
