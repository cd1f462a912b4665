package rain_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// random are the splits that draw each packet.
var random = []rain.SplitKind{rain.DoubleMean, rain.LowVariance, rain.Gaussian}

// meanCases are splits whose every packet must have the same mean, also if rounding or the maximum decides.
var meanCases = []struct {
	name    string
	budget  rain.Money
	packets int
	least   rain.Money
	most    *rain.Money
}{
	{"plain", 10_000, 10, 1, nil},
	{"two packets", 1_001, 2, 1, nil},
	{"a unit for every third packet", 40, 30, 1, nil},
	{"a single unit to spare", 21, 20, 1, nil},
	{"a high minimum", 10_050, 10, 1_000, nil},
	{"the maximum far above the mean", 1_000, 10, 1, new(rain.Money(500))},
	{"the maximum below twice the mean", 1_000, 10, 1, new(rain.Money(130))},
	{"the maximum a unit above the mean", 1_000, 10, 1, new(rain.Money(101))},
	{"the maximum all but reached by the mean", 1_009, 10, 1, new(rain.Money(101))},
	{"minimum and maximum two apart", 15, 10, 1, new(rain.Money(3))},
	{"minimum and maximum one apart", 13, 10, 1, new(rain.Money(2))},
}

// TestEachPacketHasTheSameMean looks at the packets in the order of their draws, and by their number, after the
// shuffle. A wrong split leaves the rest to the last turns and fails here. It rounds down at each turn, or cuts at the
// maximum without raising the lower end.
func TestEachPacketHasTheSameMean(t *testing.T) {
	t.Parallel()
	const trials = 20_000
	for _, tc := range meanCases {
		for _, kind := range random {
			t.Run(string(kind)+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				s := spec(kind, tc.budget, tc.packets, tc.least, tc.most)
				turns, numbers := make([]sample, tc.packets), make([]sample, tc.packets)
				largest := make([]int, tc.packets)
				for i := range trials {
					for j, a := range rain.Draw(kind, tc.packets, tc.budget, tc.least, tc.most, seedOf(i)) {
						turns[j].add(float64(a))
					}
					amounts := testenv.Got(s.Cut(seedOf(i))).Must(t)
					top := slices.Max(amounts)
					for j, a := range amounts {
						numbers[j].add(float64(a))
						if a == top {
							largest[j]++
						}
					}
				}
				checkMeans(t, turns, float64(tc.budget)/float64(tc.packets))
				checkMeans(t, numbers, float64(tc.budget)/float64(tc.packets))
				if d := chiSquare(largest); d > tooFar {
					t.Errorf("the largest packet prefers some numbers (%.1f deviations): %v", d, largest)
				}
			})
		}
	}
}

func checkMeans(t *testing.T, samples []sample, want float64) {
	t.Helper()
	for i, s := range samples {
		if z := s.z(want); math.Abs(z) > tooFar {
			t.Errorf("packet %d has the mean %.3f, not %.3f (%.1f standard errors)", i, s.sum/s.n, want, z)
		}
	}
}

// TestFirstDrawIsUniform checks the shape of the first draw of ten, with and without bounds. Double mean reaches up to
// twice the mean. Low variance gives one of eleven shares, and up to twice a tenth of another.
func TestFirstDrawIsUniform(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		kind     rain.SplitKind
		budget   rain.Money
		least    rain.Money
		most     *rain.Money
		from, to rain.Money // the bounds of the first packet
	}{
		{"no maximum", rain.DoubleMean, 1_010, 1, nil, 1, 201},
		{"a maximum of 151", rain.DoubleMean, 1_010, 1, new(rain.Money(151)), 51, 151},
		{"a maximum of 101", rain.DoubleMean, 1_010, 1, new(rain.Money(101)), 101, 101},
		{"no bounds", rain.LowVariance, 11_000, 1, nil, 1_000, 1_200},
		{"the minimum above the share", rain.LowVariance, 11_000, 1_050, nil, 1_050, 1_150},
		{"a maximum", rain.LowVariance, 11_000, 1, new(rain.Money(1_130)), 1_070, 1_130},
		{"both", rain.LowVariance, 11_000, 1_090, new(rain.Money(1_200)), 1_090, 1_110},
	} {
		t.Run(string(tc.kind)+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			counts := make([]int, tc.to-tc.from+1)
			for i := range 40_000 {
				a := rain.Draw(tc.kind, 10, tc.budget, tc.least, tc.most, seedOf(i))[0]
				if a < tc.from || a > tc.to {
					t.Fatalf("the first packet is %d, outside %d … %d", a, tc.from, tc.to)
				}
				counts[a-tc.from]++
			}
			if len(counts) > 1 && (chiSquare(counts) > tooFar || slices.Min(counts) == 0) {
				t.Errorf("not uniform: %v", counts)
			}
		})
	}
}

// TestShuffleReachesEveryOrderEqually counts all the orders of four packets.
func TestShuffleReachesEveryOrderEqually(t *testing.T) {
	t.Parallel()
	s := spec(rain.List, 10, 4, 1, nil)
	s.Amounts = []rain.Money{1, 2, 3, 4}
	orders := map[string]int{}
	for i := range 24_000 {
		amounts := testenv.Got(s.Cut(seedOf(i))).Must(t)
		key := ""
		for _, a := range amounts {
			key += strconv.Itoa(int(a))
		}
		orders[key]++
	}
	counts := make([]int, 0, 24)
	for _, c := range orders {
		counts = append(counts, c)
	}
	if len(counts) != 24 {
		t.Fatalf("%d of 24 orders came", len(counts))
	}
	if d := chiSquare(counts); d > tooFar {
		t.Errorf("some orders are preferred (%.1f deviations): %v", d, orders)
	}
}

// TestBelowRejects: with a bound of 3·2^60 the generator has 16 numbers for 3 results. Without rejection every third
// result would come 6 times for 5 of the others. With 3·2^61 + 1 a quarter of the numbers has to be rejected.
func TestBelowRejects(t *testing.T) {
	t.Parallel()
	for _, bound := range []rain.Money{3 << 60, 3<<61 + 1} {
		src := rain.NewSource(seedOf(1), "test")
		rests := make([]int, 3)
		for range 60_000 {
			rests[src.Below(bound)%3]++
		}
		if d := chiSquare(rests); d > tooFar {
			t.Errorf("below(%d): %.1f deviations from uniform: %v", bound, d, rests)
		}
	}
}

// TestPurposesDrawDifferentNumbers: one seed may serve two purposes. Neither reveals the numbers of the other.
func TestPurposesDrawDifferentNumbers(t *testing.T) {
	t.Parallel()
	a, b := rain.NewSource(seedOf(1), "split"), rain.NewSource(seedOf(1), "other")
	for range 8 {
		if a.Below(math.MaxInt64) == b.Below(math.MaxInt64) {
			t.Fatal("two purposes drew the same number")
		}
	}
}
