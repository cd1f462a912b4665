package grab

import (
	"slices"

	"redrain/grab/outcome"
)

// Quota limits the wins of several players together, such as the guests of one address. Its methods are called with a
// player's lock held: they must not block.
type Quota interface {
	// Take counts one more tap that may win. If ok is false the tap may not win, and the outcome says why.
	Take() (why outcome.Outcome, ok bool)
	// Settle reports the result of a tap that was sent to the script. taken is false if Take did not count it.
	Settle(taken, won bool)
}

// mayWin takes a tap from its player's quota. A tap that the script may have let win already is sent again in any
// case.
func (t *Tap[T]) mayWin() (why outcome.Outcome, ok bool) {
	if t.Quota == nil || slices.Contains(t.player.undecided, t.ticket) {
		return 0, true
	}
	why, ok = t.Quota.Take()
	t.taken = ok
	return why, ok
}

// settle reports the tap's result to the quota.
func (t *Tap[T]) settle(r outcome.Result) {
	if t.Quota != nil {
		t.Quota.Settle(t.taken, r.Outcome == outcome.Won)
		t.taken = false
	}
}
