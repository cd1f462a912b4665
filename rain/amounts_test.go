package rain_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

func amountsOf(t testing.TB, s rain.Spec, seed rain.Seed) *rain.Amounts {
	t.Helper()
	return testenv.Got(rain.NewAmounts(&rain.Campaign{ID: "c1", Spec: s, SplitSeed: seed})).Must(t)
}

// TestAmountsAreThoseOfTheCut, one by one and in sums over any ranges, whatever block they are in.
func TestAmountsAreThoseOfTheCut(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range rain.SplitKinds() {
		for _, packets := range []int{1, 2, rain.BlockPackets - 1, rain.BlockPackets, rain.BlockPackets + 1,
			3*rain.BlockPackets + 7} {
			s := spec(kind, 0, packets, 1, nil)
			s.Budget = rain.Money(100*packets + 3)
			if kind == rain.List {
				s.Budget = 0
				for i := range packets {
					s.Amounts = append(s.Amounts, rain.Money(1+i%7))
					s.Budget += rain.Money(1 + i%7)
				}
			}
			cut := testenv.Got(s.Cut(seedOf(5))).Must(t)
			amounts := amountsOf(t, s, seedOf(5))
			for _, packet := range r.Perm(packets) {
				if got := amounts.Of(packet); got != cut[packet] {
					t.Fatalf("%s of %d: packet %d holds %d, and is cut as %d", kind, packets, packet, got, cut[packet])
				}
			}
			for range 50 {
				first := r.IntN(packets)
				last := first + r.IntN(packets-first)
				var want rain.Money
				for _, a := range cut[first : last+1] {
					want += a
				}
				if got := amounts.Sum(rain.Numbers{{First: first, Last: last}}); got != want {
					t.Fatalf("%s of %d: packets %d to %d hold %d, want %d", kind, packets, first, last, got, want)
				}
			}
		}
	}
}

// TestAmountsOutsideTheCampaign: nothing is in a packet that there is not.
func TestAmountsOutsideTheCampaign(t *testing.T) {
	t.Parallel()
	amounts := amountsOf(t, spec(rain.Even, 100, 10, 1, nil), seedOf(1))
	for _, packet := range []int{-1 << 62, -1, 10, rain.MaxPackets, 1 << 62} {
		testenv.Equal(t, amounts.Of(packet), 0, "packet %d holds", packet)
	}
	for _, tc := range []struct {
		first, last int
		want        rain.Money
	}{{-5, -1, 0}, {-5, 0, 10}, {0, 9, 100}, {9, 1 << 40, 10}, {10, 20, 0}, {5, 4, 0}, {1 << 40, 1 << 41, 0}} {
		testenv.Equal(t, amounts.Sum(rain.Numbers{{First: tc.first, Last: tc.last}}), tc.want,
			"%d to %d hold", tc.first, tc.last)
	}
	if got := amounts.Sum(rain.Numbers{{First: 0, Last: 1}, {First: 1, Last: 2}}); got != 40 || amounts.Sum(nil) != 0 {
		t.Errorf("two ranges hold %d", got)
	}
}

// TestAmountsAtTheLimits: in the most packets and with the largest budget any packet is known at once, and each block
// is within the bounds.
func TestAmountsAtTheLimits(t *testing.T) {
	t.Parallel()
	for _, kind := range []rain.SplitKind{rain.DoubleMean, rain.LowVariance, rain.Gaussian, rain.Even} {
		const mean = rain.MaxBudget / rain.MaxPackets
		s := spec(kind, rain.MaxBudget, rain.MaxPackets, mean-1, new(mean+1))
		amounts := amountsOf(t, s, seedOf(9))
		for _, packet := range []int{0, 1, rain.BlockPackets, rain.MaxPackets/2 + 1, rain.MaxPackets - 1} {
			if got := amounts.Of(packet); got < s.Min || got > *s.Max {
				t.Errorf("%s: packet %d holds %d", kind, packet, got)
			}
		}
		half := rain.Numbers{{First: 0, Last: rain.MaxPackets/2 - 1}}
		rest := rain.Numbers{{First: rain.MaxPackets / 2, Last: rain.MaxPackets - 1}}
		if a, b := amounts.Sum(half), amounts.Sum(rest); a+b != rain.MaxBudget || a < b-10_000 || a > b+10_000 {
			t.Errorf("%s: the halves hold %d and %d", kind, a, b)
		}
	}
}

// TestEntriesAreFilledIn: FillIn sets the amounts of an entry from those of the campaign.
func TestEntriesAreFilledIn(t *testing.T) {
	t.Parallel()
	amounts := amountsOf(t, spec(rain.DoubleMean, 1000, 10, 1, nil), seedOf(1))
	e := rain.Entry{Wins: []rain.Win{{Packet: 3, Amount: 5}, {Packet: 10, Amount: 5}},
		Reclaim: &rain.Reclaim{Numbers: rain.Numbers{{First: 4, Last: 9}}}}
	e.FillIn(amounts)
	if e.Wins[0].Amount != amounts.Of(3) || e.Wins[1].Amount != 0 ||
		e.Reclaim.Amount != amounts.Sum(rain.Numbers{{First: 4, Last: 9}}) {
		t.Errorf("%+v %+v", e.Wins, e.Reclaim)
	}
}

// TestAmountsCache: a campaign's amounts are made once. Another seed needs new ones. An impossible split is an error.
func TestAmountsCache(t *testing.T) {
	t.Parallel()
	cache := rain.NewAmountsCache()
	c := rain.Campaign{ID: "c1", Spec: spec(rain.DoubleMean, 1000, 10, 1, nil), SplitSeed: seedOf(1)}
	first := testenv.Got(cache.Of(&c)).Must(t)
	again := c
	if got, err := cache.Of(&again); got != first || err != nil {
		t.Errorf("made twice (%v)", err)
	}
	again.SplitSeed = seedOf(2)
	if got, err := cache.Of(&again); got == first || err != nil {
		t.Errorf("another seed has the same amounts (%v)", err)
	}
	list := rain.Campaign{ID: "c3", Spec: spec(rain.List, 30, 2, 1, nil), SplitSeed: seedOf(1)}
	for _, given := range [][]rain.Money{{10, 20}, {15, 15}} {
		list.Amounts = given
		got, err := cache.Of(&list)
		if err != nil || got.Of(0)+got.Of(1) != 30 || got.Of(0)*got.Of(1) != given[0]*given[1] {
			t.Errorf("given %v, %v (%v)", given, got, err)
		}
	}
	again.ID, again.Packets = "c2", 2000
	if _, err := cache.Of(&again); !errors.As(err, &rain.Invalid{}) {
		t.Errorf("more packets than money: %v", err)
	}
}

// TestAmountsMayBeAskedByMany goroutines, which race for the same blocks.
func TestAmountsMayBeAskedByMany(t *testing.T) {
	t.Parallel()
	s := spec(rain.DoubleMean, 10_000_000, 100_000, 1, nil)
	amounts := amountsOf(t, s, seedOf(1))
	var wg sync.WaitGroup
	sums := make([]rain.Money, 4)
	for g := range sums {
		wg.Go(func() {
			for packet := range s.Packets {
				sums[g] += amounts.Of((packet*(g+1) + g) % s.Packets)
			}
		})
	}
	wg.Wait()
	if sums[0] != s.Budget || sums[2] != s.Budget {
		t.Errorf("%v", sums)
	}
}

// TestLuckIsTrue: of each packet the luck is the share of the packets that hold less, rounded down.
func TestLuckIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets := rapid.IntRange(1, 300).Draw(t, "packets")
		kinds := []rain.SplitKind{rain.DoubleMean, rain.LowVariance, rain.Gaussian, rain.Even}
		kind := rapid.SampledFrom(kinds).Draw(t, "split")
		s := spec(kind, 0, packets, 1, nil)
		s.Budget = rain.Money(packets) * rain.Money(rapid.IntRange(1, 400).Draw(t, "average"))
		amounts := testenv.Got(rain.NewAmounts(&rain.Campaign{ID: "c1", Spec: s, SplitSeed: seedOf(5)})).Must(t)
		for packet := range packets {
			amount, smaller := amounts.Of(packet), 0
			for other := range packets {
				if amounts.Of(other) < amount {
					smaller++
				}
			}
			if got, want := amounts.Ranks().Luck(amount), min(99, smaller*100/packets); got != want {
				t.Fatalf("a packet that is larger than %d of %d has luck %d, want %d", smaller, packets, got, want)
			}
		}
	})
}

// TestLuckOfManyPackets: of a campaign that is too large to be ranked as a whole, the luck never says too much, and
// hardly too little.
func TestLuckOfManyPackets(t *testing.T) {
	const packets = 600_000
	s := spec(rain.DoubleMean, 0, packets, 1, nil)
	s.Budget = packets * 200
	amounts := amountsOf(t, s, seedOf(5))
	all := testenv.Got(s.Cut(seedOf(5))).Must(t)
	for _, amount := range []rain.Money{1, 20, 100, 200, 300, 390} {
		smaller := 0
		for _, other := range all {
			if other < amount {
				smaller++
			}
		}
		got, is := float64(amounts.Ranks().Luck(amount)), float64(smaller)*100/packets
		if got > is || got < is-3 {
			t.Errorf("%d has luck %.0f and is larger than %.2f %% of the packets", amount, got, is)
		}
	}
	testenv.Equal(t, (*rain.Ranks)(nil).Luck(100), 0, "without ranks the luck is")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		amounts []rain.Money
		want    rain.SplitSummary
	}{
		"one packet": {[]rain.Money{88}, rain.SplitSummary{
			Packets: 1, Mean: 88, Smallest: 88, Median: 88, Largest: 88, Histogram: []rain.SplitBin{{88, 88, 1}},
		}},
		"a bin for each amount": {[]rain.Money{5, 1, 2, 2}, rain.SplitSummary{
			Packets: 4, Mean: 2.5, Deviation: 1.5, Smallest: 1, Median: 2, Largest: 5,
			Histogram: []rain.SplitBin{{1, 1, 1}, {2, 2, 2}, {3, 3, 0}, {4, 4, 0}, {5, 5, 1}},
		}},
		"an odd number of packets": {[]rain.Money{7, 1, 4}, rain.SplitSummary{
			Packets: 3, Mean: 4, Deviation: 2.45, Smallest: 1, Median: 4, Largest: 7,
			Histogram: []rain.SplitBin{{1, 1, 1}, {2, 2, 0}, {3, 3, 0}, {4, 4, 1}, {5, 5, 0}, {6, 6, 0}, {7, 7, 1}},
		}},
		"large amounts that are alike": {[]rain.Money{rain.MaxBudget, rain.MaxBudget, rain.MaxBudget - 1},
			rain.SplitSummary{
				Packets: 3, Mean: float64(rain.MaxBudget), Deviation: 0.47, Smallest: rain.MaxBudget - 1,
				Median: rain.MaxBudget, Largest: rain.MaxBudget,
				Histogram: []rain.SplitBin{{rain.MaxBudget - 1, rain.MaxBudget - 1, 1},
					{rain.MaxBudget, rain.MaxBudget, 2}},
			}},
		"a third of a unit": {[]rain.Money{1, 1, 2}, rain.SplitSummary{
			Packets: 3, Mean: 1.33, Deviation: 0.47, Smallest: 1, Median: 1, Largest: 2,
			Histogram: []rain.SplitBin{{1, 1, 2}, {2, 2, 1}},
		}},
		"bins of two units": {[]rain.Money{10, 31, 30, 12}, rain.SplitSummary{
			Packets: 4, Mean: 20.75, Deviation: 9.78, Smallest: 10, Median: 12, Largest: 31,
			Histogram: []rain.SplitBin{
				{10, 11, 1}, {12, 13, 1}, {14, 15, 0}, {16, 17, 0}, {18, 19, 0}, {20, 21, 0}, {22, 23, 0}, {24, 25, 0},
				{26, 27, 0}, {28, 29, 0}, {30, 31, 2},
			},
		}},
		"all the money there is": {[]rain.Money{rain.MaxBudget - 1, 1}, rain.SplitSummary{
			Packets: 2, Mean: float64(rain.MaxBudget) / 2, Deviation: float64(rain.MaxBudget)/2 - 1, Smallest: 1,
			Median: 1, Largest: rain.MaxBudget - 1,
			Histogram: func() (bins []rain.SplitBin) {
				const width = rain.MaxBudget / 20
				for i := range rain.Money(20) {
					bins = append(bins, rain.SplitBin{From: 1 + i*width, To: (i + 1) * width})
				}
				bins[0].Packets, bins[19].Packets = 1, 1
				return bins
			}(),
		}},
	} {
		if diff := cmp.Diff(tc.want, rain.Describe(tc.amounts), cmpopts.EquateApprox(1e-14, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
