package grab

import (
	"slices"
	"sync"
	"time"

	"redrain/grab/outcome"
	"redrain/rain"
)

// Tap is one tap of a player on a drop. Its maker sets the exported fields, gives it to one Gate once, and changes
// nothing any more.
type Tap[T any] struct {
	User   string      // has passed rain.CheckUser
	Nodes  int         // on which the player is: the rate of taps is shared among them; 0 is 1
	Drop   rain.DropID // whatever the player has sent, as far as it is a drop's id
	Caller T           // what its maker needs to tell the result; this package does not look at it
	// what the player may win together with others; nil: as much as the campaign allows
	Allowance Allowance

	taken  bool             // the allowance has counted it
	ticket rain.Ticket      // what the tap asks for
	player *cachedPlayer[T] // who has tapped; set before the tap goes to the script
	came   int64            // when it came, Unix ms, as the gate's clock says
	result outcome.Result
	waits  time.Time // since when it has waited for another tap of its player, or for stock; zero: for neither
	copies []*Tap[T] // taps of the same player on the same drop that came meanwhile; the player's lock guards them
}

// mostCopies is how many taps on one drop may wait for the same result. A player has no use for more.
const mostCopies = 16

// Result is what came of a tap that is answered.
func (t *Tap[T]) Result() outcome.Result { return t.result }

// cachedPlayer is what this node knows of a player, with the taps of theirs that are with the script just now.
type cachedPlayer[T any] struct {
	player

	mu *sync.Mutex // guards all of it; shared with other players
	// taps that are not decided. The first is with the script, and the others wait for it: the script takes one tap
	// of a player at a time.
	flying []*Tap[T]
	gone   func() // drops the player, who has left; called when no tap is under way any more; nil: the player is here
}

// underWay finds the player's tap on a drop that the script has not decided yet.
func (p *cachedPlayer[T]) underWay(id rain.DropID) *Tap[T] {
	for _, t := range p.flying {
		if t.Drop == id {
			return t
		}
	}
	return nil
}

// land takes a tap back from under way, and returns the one whose turn it is then; nil where none waits. With the last
// tap of one who has left it drops the player.
func (p *cachedPlayer[T]) land(t *Tap[T]) (next *Tap[T]) {
	if i := slices.Index(p.flying, t); i >= 0 {
		p.flying = slices.Delete(p.flying, i, i+1)
		if i == 0 && len(p.flying) > 0 {
			return p.flying[0]
		}
	}
	if len(p.flying) == 0 && p.gone != nil {
		p.gone()
	}
	return nil
}
