package reconcile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/rain"
)

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
