package rain_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// spec is a valid campaign whose split is the test's.
func spec(kind rain.SplitKind, budget rain.Money, packets int, least rain.Money, most *rain.Money) rain.Spec {
	s := rain.DefaultSpec()
	s.Name, s.Sponsor = "Gala", "acme"
	s.Split, s.Budget, s.Packets, s.Min, s.Max = kind, budget, packets, least, most
	return s
}

// drawn are the splits that need no list.
var drawn = []rain.SplitKind{rain.DoubleMean, rain.LowVariance, rain.Gaussian, rain.Even}

// checkCut fails unless the amounts are a correct split of the spec.
func checkCut(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *rain.Spec, amounts []rain.Money) {
	t.Helper()
	if len(amounts) != s.Packets {
		t.Fatalf("%d amounts for %d packets", len(amounts), s.Packets)
	}
	if lo, hi := slices.Min(amounts), slices.Max(amounts); s.Split == rain.Even && hi-lo > 1 {
		t.Fatalf("an even split has packets from %d to %d", lo, hi)
	}
	sum := new(big.Int)
	for i, a := range amounts {
		if a < s.Min || (s.Max != nil && a > *s.Max) {
			t.Fatalf("packet %d is %d, outside %d … %v", i, int64(a), int64(s.Min), s.Max)
		}
		sum.Add(sum, big.NewInt(int64(a)))
	}
	if sum.Cmp(big.NewInt(int64(s.Budget))) != 0 {
		t.Fatalf("the amounts add up to %s, the budget is %d", sum, int64(s.Budget))
	}
}

// genSeed draws a seed.
func genSeed() *rapid.Generator[rain.Seed] {
	return rapid.Custom(func(t *rapid.T) rain.Seed {
		return rain.Seed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
	})
}

// genFeasible draws a valid spec, most often one at the edge. Examples are a maximum equal to the mean or just above,
// hardly anything above the minimum, and one or two packets.
func genFeasible() *rapid.Generator[rain.Spec] {
	return rapid.Custom(func(t *rapid.T) rain.Spec {
		packets := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 300)).Draw(t, "packets")
		n := rain.Money(packets)
		least := rapid.OneOf(rapid.Just(rain.Money(1)), rapid.Map(rapid.Int64Range(1, int64(rain.MaxBudget/n)),
			toMoney)).Draw(t, "min")
		room := int64(rain.MaxBudget - n*least)
		over := rapid.OneOf(
			rapid.Int64Range(0, min(room, int64(packets)+2)),
			rapid.Int64Range(0, min(room, 1_000_000)),
			rapid.Int64Range(0, room),
		).Draw(t, "over the minimum")
		budget := n*least + rain.Money(over)
		s := spec(rapid.SampledFrom(drawn).Draw(t, "split"), budget, packets, least, nil)
		if rapid.Bool().Draw(t, "has max") {
			mean := (budget + n - 1) / n // the least maximum that can hold the budget
			above := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, int64(budget))).Draw(t,
				"max above the mean")
			s.Max = new(mean + rain.Money(above))
		}
		return s
	})
}

func toMoney(v int64) rain.Money { return rain.Money(v) }

// TestCutIsExactWithinBoundsAndRepeatable: and a split alone, which is previewed, is cut as its campaign's, which is
// stocked.
func TestCutIsExactWithinBoundsAndRepeatable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, seed := genFeasible().Draw(t, "spec"), genSeed().Draw(t, "seed")
		amounts := testenv.Got(s.Cut(seed)).Must(t)
		checkCut(t, &s, amounts)
		split := s.SplitSpec()
		testenv.Got(split.Cut(seed)).Want(t, amounts, "the same seed again")
	})
}

func TestCutOfAListIsThatListShuffled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Map(rapid.Int64Range(1, 1_000_000_000), toMoney), 1, 200).Draw(t, "amounts")
		given := slices.Clone(list)
		var total rain.Money
		for _, a := range list {
			total += a
		}
		s := spec(rain.List, total, len(list), 1, nil)
		s.Amounts = list
		got := testenv.Got(s.Cut(genSeed().Draw(t, "seed"))).Must(t)
		if !slices.Equal(s.Amounts, given) {
			t.Fatal("Cut changed the list that it was given")
		}
		slices.Sort(got)
		slices.Sort(given)
		if !slices.Equal(got, given) {
			t.Fatalf("got %v of the list %v", got, given)
		}
	})
}

// TestCutAcceptsExactlyWhatIsFeasible compares the validation with arithmetic on numbers of any size.
func TestCutAcceptsExactlyWhatIsFeasible(t *testing.T) {
	t.Parallel()
	amount := rapid.OneOf(
		rapid.Int64Range(-1, 50), rapid.Int64Range(1, 100_000), rapid.Int64Range(1, int64(rain.MaxBudget)+1),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, int64(rain.MaxBudget)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		packets := rapid.OneOf(rapid.IntRange(-1, 5), rapid.IntRange(1, 2_000)).Draw(t, "packets")
		s := spec(rapid.SampledFrom(drawn).Draw(t, "split"),
			toMoney(amount.Draw(t, "budget")), packets, toMoney(amount.Draw(t, "min")), nil)
		if rapid.Bool().Draw(t, "has max") {
			s.Max = new(toMoney(amount.Draw(t, "max")))
		}
		fields := infeasible(&s)
		amounts, err := s.Cut(seedOf(1))
		if len(fields) == 0 {
			if err != nil {
				t.Fatalf("feasible, yet refused: %v", err)
			}
			checkCut(t, &s, amounts)
			return
		}
		var faults rain.Invalid
		if !errors.As(err, &faults) {
			t.Fatalf("infeasible in %v, yet the error is %v", fields, err)
		}
		if amounts != nil {
			t.Fatalf("amounts came with the error: %v", amounts)
		}
		for _, f := range fields {
			if !slices.ContainsFunc(faults, func(e rain.FieldError) bool { return e.Field == f }) {
				t.Fatalf("the field %s is not named in %v", f, faults)
			}
		}
	})
}

// infeasible names the fields that a spec must be refused for.
func infeasible(s *rain.Spec) (fields []string) {
	budget, packets, least := big.NewInt(int64(s.Budget)), big.NewInt(int64(s.Packets)), big.NewInt(int64(s.Min))
	if s.Budget < 1 || s.Budget > rain.MaxBudget {
		fields = append(fields, "budget")
	}
	if s.Packets < 1 || s.Packets > rain.MaxPackets {
		fields = append(fields, "packets")
	}
	if s.Min < 1 || s.Min > rain.MaxBudget {
		return append(fields, "min")
	}
	if s.Max != nil && *s.Max < s.Min {
		return append(fields, "max")
	}
	if s.Budget < 1 || s.Packets < 1 {
		return fields
	}
	if budget.Cmp(new(big.Int).Mul(packets, least)) < 0 {
		fields = append(fields, "budget")
	}
	if s.Max != nil && budget.Cmp(new(big.Int).Mul(packets, big.NewInt(int64(*s.Max)))) > 0 {
		fields = append(fields, "budget")
	}
	return fields
}

// TestCutEverySmallBudget goes through every feasible budget, minimum and maximum of up to five packets.
func TestCutEverySmallBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range []rain.SplitKind{rain.DoubleMean, rain.LowVariance, rain.Gaussian} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cuts := 0
			for packets := 1; packets <= 5; packets++ {
				n := rain.Money(packets)
				for least := rain.Money(1); least <= 3; least++ {
					for budget := n * least; budget <= n*least+12; budget++ {
						for most := (budget + n - 1) / n; most <= budget+1; most++ {
							for i := range 3 {
								s := spec(kind, budget, packets, least, new(most))
								amounts, err := s.Cut(seedOf(i))
								if err != nil {
									t.Fatalf("budget %d, %d packets, min %d, max %d: %v", budget, packets, least, most,
										err)
								}
								checkCut(t, &s, amounts)
								cuts++
							}
						}
					}
				}
			}
			if cuts < 4_000 {
				t.Fatalf("only %d cuts were tried", cuts)
			}
		})
	}
}

func TestCutNeedsItsSeed(t *testing.T) {
	t.Parallel()
	for _, kind := range drawn {
		s := spec(kind, 100_000, 100, 1, nil)
		if kind == rain.Even {
			s.Budget += 50 // only the order differs, of those that have a unit more
		}
		seen := map[string]bool{}
		for i := range 50 {
			amounts := testenv.Got(s.Cut(seedOf(i))).Must(t)
			seen[fmt.Sprint(amounts)] = true
		}
		testenv.Equal(t, len(seen), 50, "%s: splits of 50 seeds", kind)
	}
}
