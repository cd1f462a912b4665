package campaigns

import (
	"slices"
	"testing"
)

// A round has room for some moves only: the first of each lane are among them, whatever the others need.
func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	moves := func(first, n int) (all []transfer) {
		for i := range n {
			all = append(all, transfer{from: first + i})
		}
		return all
	}
	var from []int
	for _, m := range inTurns([][]transfer{moves(0, 4), nil, moves(10, 2)}) {
		from = append(from, m.from)
	}
	if want := []int{0, 10, 1, 11, 2, 3}; !slices.Equal(from, want) {
		t.Errorf("%v, want %v", from, want)
	}
}
