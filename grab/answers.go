package grab

import "redrain/grab/outcome"

// Answer is called with taps that have their results, in the order in which they were decided. It is called exactly
// once for each tap whose result Gate.Tap did not know. The goroutine that decides a shard's taps calls it without a
// lock: it must not block, or all others on the shard wait. The slice is only lent.
type Answer[T any] func(taps []*Tap[T])

// answers gives taps their results and reports them to the callers, many at once. No other type does either.
type answers[T any] struct {
	report Answer[T]
	next   func(*Tap[T]) bool // sends the player's next tap to the script; false if it cannot
	taps   []*Tap[T]
	nexts  []*Tap[T] // sent when those before them are answered
}

// add gives a tap in flight its result, together with the copies that wait for it. sent says whether the script may
// have seen it.
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
		// Taps behind an undecided one are abandoned with it: Redis is away, and each would wait for it anew.
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
