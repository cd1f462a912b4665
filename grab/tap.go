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

	taken  bool             // Quota.Take counted this tap, and Quota.Settle was not called yet
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
	// The first is with the script, and the others wait for it: the script takes one tap of a player at a time.
	undecidedTaps []*Tap[T]
	onIdle        func() // drops the player, who has left, when no tap is in flight any more; nil: the player is here
}

// inFlight finds the player's undecided tap on a drop.
func (p *cachedPlayer[T]) inFlight(id rain.DropID) *Tap[T] {
	for _, t := range p.undecidedTaps {
		if t.Drop == id {
			return t
		}
	}
	return nil
}

// finish removes a decided tap, and returns the one to be sent next; nil if none waits. With the last tap of a player
// who has left it drops the player.
func (p *cachedPlayer[T]) finish(t *Tap[T]) (next *Tap[T]) {
	if i := slices.Index(p.undecidedTaps, t); i >= 0 {
		p.undecidedTaps = slices.Delete(p.undecidedTaps, i, i+1)
		if i == 0 && len(p.undecidedTaps) > 0 {
			return p.undecidedTaps[0]
		}
	}
	if len(p.undecidedTaps) == 0 && p.onIdle != nil {
		p.onIdle()
	}
	return nil
}

// Answer is called with taps that have their results, in the order in which they were decided. It is called exactly
// once for each tap whose result Gate.Tap did not know. The goroutine that decides a shard's taps calls it, or the one
// of its shortage, without a lock: it must not block. The slice is only lent. It is gateway.Results.Answer.
type Answer[T any] func(taps []*Tap[T])

// answers gives taps their results and reports them to the callers, many at once. No other type does either.
type answers[T any] struct {
	report Answer[T]          // set in server.go
	next   func(*Tap[T]) bool // sends the player's next tap to the script; false if it cannot
	taps   []*Tap[T]
	nexts  []*Tap[T] // sent when those before them are answered
}

// add records a result for a tap and its copies. If the result is unavailable, the player's waiting taps get it too.
// sent says whether the script may have seen the tap.
func (a *answers[T]) add(t *Tap[T], r outcome.Result, sent bool) {
	p := t.player
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		next := p.finish(t)
		p.decided(t.Drop, t.ticket, r, sent)
		t.result = r
		t.settle(r)
		a.taps = append(a.taps, t)
		for _, c := range t.copies {
			c.result = r
			a.taps = append(a.taps, c)
		}
		switch {
		case next == nil:
			return
		case r.Outcome != outcome.Unavailable:
			a.nexts = append(a.nexts, next)
			return
		}
		// If a tap stays undecided, the player's queued taps are unavailable too. Otherwise each would wait for its own
		// time-out.
		t, r, sent = next, outcome.Result{}, false
	}
}

// send reports all results that were added, and then sends the taps that have waited for them. So a player's results
// come in the order of the taps.
func (a *answers[T]) send() {
	for len(a.taps) > 0 {
		a.report(a.taps)
		clear(a.taps)
		a.taps = a.taps[:0]
		nexts := a.nexts
		a.nexts = nil
		for _, t := range nexts {
			if !a.next(t) {
				a.add(t, outcome.Result{}, false)
			}
		}
	}
}

// Quota limits the wins of several players together, such as the guests of one address. Its methods are called with a
// player's lock held: they must not block.
type Quota interface {
	// Take counts one more tap that may win. If ok is false the tap may not win, and the outcome says why.
	Take() (why outcome.Outcome, ok bool)
	// Settle reports the result of a tap that was sent to the script. taken is false if Take did not count it.
	Settle(taken, won bool)
}

// mayWin takes a tap from its player's quota. The quota does not block a tap whose ticket may have won already.
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
