package grab

import "redrain/rain"

// Outcome is what came of a tap, in the words of the wire.
type Outcome string

// The outcomes.
const (
	Won         Outcome = "won"
	Already     Outcome = "already"      // the player has all the wins allowed
	SoldOut     Outcome = "sold_out"     // nothing is left on the player's home shard
	NotOpen     Outcome = "not_open"     // no rain, countdown, paused or ended
	Limited     Outcome = "limited"      // the player's taps are used up
	Empty       Outcome = "empty"        // a decoy, or the pacing has released no more by now
	Late        Outcome = "late"         // the drop has landed
	UnknownDrop Outcome = "unknown_drop" // there is no such drop, or not yet
	TooFast     Outcome = "too_fast"     // more taps per second than allowed
	Unavailable Outcome = "unavailable"  // nothing is known to be decided: to be tapped again
)

// Outcomes is every outcome there is.
var Outcomes = []Outcome{Won, Already, SoldOut, NotOpen, Limited, Empty, Late, UnknownDrop, TooFast, Unavailable}

// codeOf is an outcome's place in Outcomes: what the memory keeps of it.
func codeOf(o Outcome) uint8 {
	for code, known := range Outcomes {
		if known == o {
			return uint8(code)
		}
	}
	panic("grab: an outcome that is not among Outcomes: " + string(o))
}

// Result is the answer to a tap. Packet and Amount are those of a win; with any other outcome they are zero.
type Result struct {
	Outcome Outcome
	Packet  int
	Amount  rain.Money
}

// outcomeOf translates the letters of grab.lua for taps that win nothing.
func outcomeOf(letter byte) (Outcome, bool) {
	switch letter {
	case 'a':
		return Already, true
	case 's':
		return SoldOut, true
	case 'n':
		return NotOpen, true
	case 'l':
		return Limited, true
	case 'e':
		return Empty, true
	default:
		return "", false
	}
}
