package rain_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestMoneyString(t *testing.T) {
	t.Parallel()
	for m, want := range map[rain.Money]string{
		0: "0.00", 1: "0.01", 9: "0.09", 10: "0.10", 88: "0.88", 100: "1.00", 101: "1.01", 123_456: "1234.56",
		-1: "-0.01", -99: "-0.99", -100: "-1.00", -123_456: "-1234.56", rain.MaxBudget: "10000000000000.00",
		math.MaxInt64: "92233720368547758.07", math.MinInt64: "-92233720368547758.08",
	} {
		testenv.Equal(t, m.String(), want, "%d prints as", int64(m))
	}
}

// TestSumIsExactOrRefused compares with numbers of any size. The running total counts, as documented:
// a sum may not pass through what does not fit.
func TestSumIsExactOrRefused(t *testing.T) {
	t.Parallel()
	amount := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Map(amount, toMoney), 0, 8).Draw(t, "amounts")
		exact, fits := new(big.Int), true
		for _, a := range amounts {
			exact.Add(exact, big.NewInt(int64(a)))
			fits = fits && exact.IsInt64()
		}
		got, err := rain.Sum(amounts)
		switch {
		case fits && (err != nil || int64(got) != exact.Int64()):
			t.Fatalf("%d (%v), want %s", got, err, exact)
		case !fits && (!errors.Is(err, rain.ErrMoneyOverflow) || got != 0):
			t.Fatalf("%d (%v), though %s does not fit", got, err, exact)
		}
	})
}

func TestLargestBudgetIsExactInABrowser(t *testing.T) {
	t.Parallel()
	if rain.MaxBudget >= 1<<53 {
		t.Error("JavaScript's numbers are exact below 2^53 only")
	}
}
