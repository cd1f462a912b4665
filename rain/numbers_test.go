package rain_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/rain"
)

func genNumbers() *rapid.Generator[rain.Numbers] {
	return rapid.Custom(func(t *rapid.T) (numbers rain.Numbers) {
		for range rapid.IntRange(0, 6).Draw(t, "ranges") {
			first := rapid.IntRange(0, 40).Draw(t, "first")
			numbers = append(numbers, rain.Range{First: first, Last: first + rapid.IntRange(0, 8).Draw(t, "more")})
		}
		return numbers
	})
}

func TestNumbersComeBackFromTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := genNumbers().Draw(t, "numbers")
		again, err := rain.ParseNumbers(numbers.String(), 100)
		if err != nil || !slices.Equal(again, numbers) {
			t.Fatalf("%v came back as %v (%v)", numbers, again, err)
		}
		if all := slices.Collect(numbers.Each()); len(all) != numbers.Count() {
			t.Fatalf("%v: %d numbers, counted %d", numbers, len(all), numbers.Count())
		}
		var taken []int
		for rest := slices.Clone(numbers); ; {
			packet, ok := rest.Take()
			if !ok {
				break
			}
			taken = append(taken, packet)
		}
		if !slices.Equal(taken, slices.Collect(numbers.Each())) {
			t.Fatalf("%v was taken as %v", numbers, taken)
		}
	})
}

func TestParseNumbersRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "1", "1-", "-1", "2-1", "01-2", "1-2 ", "1-2  3-4", "1-2,3-4", "1-100", "a-b",
		"1-2-3",
		"1-9999999999999999"} {
		if numbers, err := rain.ParseNumbers(text, 100); err == nil {
			t.Errorf("%q was read as %v", text, numbers)
		}
	}
	if numbers, err := rain.ParseNumbers("", 100); err != nil || numbers != nil {
		t.Errorf("no numbers were read as %v (%v)", numbers, err)
	}
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		came, gone := genNumbers().Draw(t, "came"), genNumbers().Draw(t, "gone")
		count := map[int]int{}
		for packet := range came.Each() {
			count[packet]++
		}
		for packet := range gone.Each() {
			count[packet]--
		}
		var want []int
		for packet := range 60 {
			if count[packet] > 0 {
				want = append(want, packet)
			}
		}
		rest := rain.Remaining(came, gone)
		if got := slices.Collect(rest.Each()); !slices.Equal(got, want) {
			t.Fatalf("%v without %v is %v, want %v", came, gone, rest, want)
		}
		for i := 1; i < len(rest); i++ {
			if rest[i].First <= rest[i-1].Last+1 {
				t.Fatalf("%v is not as short as it could be", rest)
			}
		}
	})
}

func TestAmountsAreTheCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genFeasible().Draw(t, "spec")
		if rapid.Bool().Draw(t, "large") {
			n := rapid.IntRange(4_000, 20_000).Draw(t, "packets")
			s = spec(rapid.SampledFrom(drawn).Draw(t, "split of many"),
				rain.Money(n*rapid.IntRange(1, 200).Draw(t, "mean")), n,
				1, nil)
		}
		seed := genSeed().Draw(t, "seed")
		cut, err := s.Cut(seed)
		if err != nil {
			t.Fatal(err)
		}
		checkCut(t, &s, cut)
		amounts, err := rain.NewAmounts(&rain.Campaign{Spec: s, SplitSeed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			packet := rapid.IntRange(-1, s.Packets).Draw(t, "packet")
			want := rain.Money(0)
			if packet >= 0 && packet < s.Packets {
				want = cut[packet]
			}
			if got := amounts.Of(packet); got != want {
				t.Fatalf("packet %d holds %d, want %d", packet, got, want)
			}
			last := rapid.IntRange(packet, s.Packets+2).Draw(t, "last")
			sum := rain.Money(0)
			for i := max(packet, 0); i <= min(last, s.Packets-1); i++ {
				sum += cut[i]
			}
			if got := amounts.Sum(rain.Numbers{{First: packet, Last: last}}); got != sum {
				t.Fatalf("%d … %d hold %d, want %d", packet, last, got, sum)
			}
		}
	})
}
