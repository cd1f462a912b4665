package rain_test

import (
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

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
