package grab

import (
	"slices"

	"redrain/grab/outcome"
)

// Allowance is how much several players may win together, such as the guests of one address. Its methods are called
// with a player's lock held: they must not block.
type Allowance interface {
	// Take counts one more tap that may win. Where ok is false it may not, and the outcome says why.
	Take() (why outcome.Outcome, ok bool)
	// Settle says what has come of a tap that the script was asked about. taken is false where it was not counted by
	// Take.
	Settle(taken, won bool)
}

// mayWin counts a tap off its player's allowance. One that the script may have let win already is asked again in any
// case.
func (t *Tap[T]) mayWin() (why outcome.Outcome, ok bool) {
	if t.Allowance == nil || slices.Contains(t.player.undecided, t.ticket) {
		return 0, true
	}
	why, ok = t.Allowance.Take()
	t.taken = ok
	return why, ok
}

// settle tells the allowance what came of the tap.
func (t *Tap[T]) settle(r outcome.Result) {
	if t.Allowance != nil {
		t.Allowance.Settle(t.taken, r.Outcome == outcome.Won)
		t.taken = false
	}
}
