package reconcile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/rain"
)

// TestHoldingsAndSets holds the bits of a holding against maps.
func TestHoldingsAndSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ranges, numbers rain.Numbers
		next := 0
		for range rapid.IntRange(1, 6).Draw(t, "ranges") {
			first := next + rapid.IntRange(1, 150).Draw(t, "gap")
			next = first + rapid.IntRange(0, 200).Draw(t, "length")
			ranges = append(ranges, rain.Range{First: first, Last: next})
		}
		for range rapid.IntRange(0, 8).Draw(t, "numbers") {
			first := rapid.IntRange(0, next+20).Draw(t, "first")
			numbers = append(numbers, rain.Range{First: first, Last: first + rapid.IntRange(0, 300).Draw(t, "more")})
		}
		h := newHolding(ranges)
		var s set
		strays, twice := h.put(&s, numbers)

		is, here := map[int]int{}, map[int]bool{}
		for packet := range ranges.Each() {
			here[packet] = true
		}
		var wantStrays, wantTwice, wantIn []int
		for packet := range numbers.Each() {
			switch is[packet]++; {
			case !here[packet]:
				wantStrays = append(wantStrays, packet)
			case is[packet] > 1:
				wantTwice = append(wantTwice, packet)
			}
		}
		at := 0
		for packet := range ranges.Each() {
			if i, ok := h.index(packet); !ok || i != at || s.has(i) != (is[packet] > 0) {
				t.Fatalf("packet %d: index %d, %v, in the set %v, want %d and %v", packet, i, ok, s.has(i), at,
					is[packet] > 0)
			}
			if at++; is[packet] > 0 {
				wantIn = append(wantIn, packet)
			}
		}
		for what, of := range map[string]struct {
			got  rain.Numbers
			want []int
		}{"strays": {strays, wantStrays}, "twice": {twice, wantTwice}, "set": {h.list(s.word), wantIn},
			"rest": {h.list(func(w int) uint64 { return ^s.word(w) }), slices.DeleteFunc(slices.Collect(ranges.Each()),
				func(packet int) bool { return is[packet] > 0 })}} {
			if got := slices.Collect(of.got.Each()); !slices.Equal(got, of.want) {
				t.Fatalf("%s: %v, want %v", what, got, of.want)
			}
		}
	})
}

// TestTally holds it against counting.
func TestTally(t *testing.T) {
	t.Parallel()
	draw := func(t *rapid.T, what string) (numbers rain.Numbers) {
		for range rapid.IntRange(0, 5).Draw(t, what) {
			first := rapid.IntRange(0, 20).Draw(t, "first")
			numbers = append(numbers, rain.Range{First: first, Last: first + rapid.IntRange(0, 10).Draw(t, "more")})
		}
		return numbers
	}
	rapid.Check(t, func(t *rapid.T) {
		came, gone := draw(t, "came"), draw(t, "gone")
		here, twice, absent := tally(came, gone)
		count := map[int]int{}
		for packet := range came.Each() {
			count[packet]++
		}
		for packet := range gone.Each() {
			count[packet]--
		}
		in := func(numbers rain.Numbers, packet int) bool {
			return slices.Contains(slices.Collect(numbers.Each()), packet)
		}
		for packet := range 40 {
			n := count[packet]
			if in(here, packet) != (n > 0) || in(twice, packet) != (n > 1) || in(absent, packet) != (n < 0) {
				t.Fatalf("packet %d has come %d times: here %v, twice %v, absent %v", packet, n, here, twice, absent)
			}
		}
	})
}
