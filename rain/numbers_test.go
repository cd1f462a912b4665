package rain_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
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
		testenv.Equal(t, testenv.Got(rain.ParseNumbers(numbers.String(), 100)).Must(t), numbers, "what came back")
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
		testenv.WantFail(t, testenv.Err(rain.ParseNumbers(text, 100)), text, "was read")
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
