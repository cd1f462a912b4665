package rain_test

import (
	"errors"
	"slices"
	"testing"

	"redrain/rain"
)

func FuzzCut(f *testing.F) {
	f.Add(int64(1_000), 10, int64(1), int64(0), uint8(0), []byte("seed"))
	f.Add(int64(1_009), 10, int64(1), int64(101), uint8(0), []byte{})
	f.Add(int64(rain.MaxBudget), 1_000, int64(1), int64(1<<62), uint8(0), []byte{1})
	f.Add(int64(rain.MaxBudget), rain.MaxPackets+1, int64(rain.MaxBudget), int64(-1), uint8(1), []byte{2})
	f.Add(int64(3), 2, int64(1), int64(2), uint8(2), []byte{0, 1})
	f.Add(int64(1_001), 3, int64(1), int64(400), uint8(4), []byte{3})
	f.Add(int64(rain.MaxBudget)-1, 19_999, int64(7), int64(1<<62), uint8(5), []byte{4})
	f.Add(int64(-1), -1, int64(-1), int64(-1), uint8(3), []byte(nil))
	f.Fuzz(func(t *testing.T, budget int64, packets int, least, most int64, kind uint8, entropy []byte) {
		kinds := []rain.SplitKind{rain.DoubleMean, rain.Even, rain.List, "unknown", rain.LowVariance, rain.Gaussian}
		s := spec(kinds[int(kind)%len(kinds)], rain.Money(budget), packets, rain.Money(least), nil)
		if most != 0 {
			s.Max = new(rain.Money(most))
		}
		if s.Split == rain.List {
			for _, b := range entropy {
				s.Amounts = append(s.Amounts, rain.Money(b))
			}
		}
		var seed rain.Seed
		copy(seed[:], entropy)
		if packets > 20_000 {
			_ = s.Validate() // enough: cutting this many at each run would make the fuzzer slow
			return
		}
		amounts, err := s.Cut(seed)
		var faults rain.Invalid
		switch {
		case err == nil:
			checkCut(t, &s, amounts)
			if again, _ := s.Cut(seed); !slices.Equal(again, amounts) {
				t.Fatal("the same seed gave other amounts")
			}
		case !errors.As(err, &faults) || len(faults) == 0 || amounts != nil:
			t.Fatalf("%v, %v", amounts, err)
		case slices.Contains(drawn, s.Split) && len(infeasible(&s)) == 0:
			t.Fatalf("a feasible spec is refused: %v", err)
		}
	})
}
