package grab

import (
	"slices"
	"sync"
	"time"

	"redrain/grab/outcome"
	"redrain/rain"
)

// Tap is one tap of a player on a drop. Its maker sets the exported fields, passes it to one Gate once, and does not
// change it any more.
type Tap[T any] struct {
	User   string      // has passed rain.CheckUser
	Nodes  int         // the number of the player's nodes, which share the rate of taps; 0 is 1
	Drop   rain.DropID // untrusted, in the form of a drop's id
	Caller T           // the caller's data for answering the tap; this package does not use it
	// limits the player together with others; nil: only the campaign limits the player
	Quota Quota

	taken  bool             // the quota has counted it
	ticket rain.Ticket      // the drop's ticket
	player *cachedPlayer[T] // set before the tap goes to the script
	came   int64            // time of arrival, Unix ms on the gate's clock
	result outcome.Result
	waits  time.Time // start of its wait for another tap of its player, or for stock; zero: it does not wait
	copies []*Tap[T] // taps of the same player on the same drop that came meanwhile; the player's lock guards them
}

// mostCopies is the most taps on one drop that may wait for the same result. More are of no use to a player.
const mostCopies = 16

// Result returns the result of an answered tap.
func (t *Tap[T]) Result() outcome.Result { return t.result }

// cachedPlayer is the cached state of a player, with the player's taps that are with the script.
type cachedPlayer[T any] struct {
	player

	mu *sync.Mutex // guards all of it; shared with other players
	// undecided taps. The first is with the script, and the others wait for it: the script takes one tap of a player
	// at a time.
	flying []*Tap[T]
	gone   func() // drops the player, who has left; called when no tap is in flight any more; nil: the player is here
}

// inFlight finds the player's undecided tap on a drop.
func (p *cachedPlayer[T]) inFlight(id rain.DropID) *Tap[T] {
	for _, t := range p.flying {
		if t.Drop == id {
			return t
		}
	}
	return nil
}

// land removes a decided tap, and returns the one to be sent next; nil if none waits. With the last tap of a player
// who has left it drops the player.
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
