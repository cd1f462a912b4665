package grab

import (
	"slices"
	"sync"

	"redrain/grab/outcome"
	"redrain/rain"
)

// Tap is one tap of a player on a drop. Its maker sets the exported fields, gives it to one Gate once, and changes
// nothing any more.
type Tap[T any] struct {
	User   string      // has passed rain.CheckUser
	Drop   rain.DropID // whatever the player has sent, as far as it is a drop's id
	Caller T           // what its maker needs to tell the result; this package does not look at it

	player *cachedPlayer[T] // who has tapped; set before the tap goes to the script
	result outcome.Result
	dryAt  int64     // when its shard had nothing left for it the first time, Unix ms; 0: never
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
	// taps that are not decided. The first is with the script, and the others wait for it: the script takes one tap of a
	// player at a time.
	flying []*Tap[T]
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

// land takes a tap back from under way, and returns the one whose turn it is then; nil where none waits.
func (p *cachedPlayer[T]) land(t *Tap[T]) (next *Tap[T]) {
	if i := slices.Index(p.flying, t); i >= 0 {
		p.flying = slices.Delete(p.flying, i, i+1)
		if i == 0 && len(p.flying) > 0 {
			return p.flying[0]
		}
	}
	return nil
}
