package grab

import "redrain/grab/outcome"

// Answer is called with taps that have their results, in the order in which they were decided: with each tap once for
// which Gate.Tap did not know the result. It is called by the goroutine that decides a shard's taps, with no lock held:
// it must not block, or all others on the shard wait. The slice is only lent.
type Answer[T any] func(taps []*Tap[T])

// answers gives taps their results and tells those who asked, many at once. Nothing else does either.
type answers[T any] struct {
	tell  Answer[T]
	next  func(*Tap[T]) bool // sends the player's next tap to the script; false where it cannot
	taps  []*Tap[T]
	nexts []*Tap[T] // whose turn it is when those before them are told
}

// add gives a tap that is under way its result, and takes it along with the copies that wait for it. sent says whether
// the script may have seen it.
func (a *answers[T]) add(t *Tap[T], r outcome.Result, sent bool) {
	p := t.player
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		next := p.land(t)
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
		// What waits behind a tap that nobody can decide is given up with it: Redis is away, and each would wait for
		// it anew.
		t, r, sent = next, outcome.Result{}, false
	}
}

// send tells of all that was added, and then sends the taps that have waited for it: a player hears of their taps in
// the order in which they came.
func (a *answers[T]) send() {
	for len(a.taps) > 0 {
		a.tell(a.taps)
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
