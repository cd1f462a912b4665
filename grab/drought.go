package grab

import (
	"sync"
	"time"

	"redrain/grab/outcome"
)

// droughtMS is how long a tap waits for stock from another shard.
const droughtMS = 300

// drought holds the taps of a shard that has nothing left, while its campaign may have more elsewhere. They are asked
// again when stock has come. Those that have waited for long enough are told that there was nothing for them this time.
type drought[T any] struct {
	workers *workers
	again   func(*Tap[T]) bool // puts a tap into the queue of its shard
	clock   func() int64
	soldOut func() bool // nothing is left of the campaign
	dry     func(taps int)

	mu      sync.Mutex
	taps    []*Tap[T]
	running bool
	ended   chan struct{} // tells who waits that there is news
	answers answers[T]    // the waiting goroutine's
}

func newDrought[T any](w *workers, a answers[T]) *drought[T] {
	return &drought[T]{workers: w, answers: a, ended: make(chan struct{}, 1)}
}

// add lets taps wait. It is false where that makes no sense, and they are not taken.
func (d *drought[T]) add(taps []*Tap[T]) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running && !d.workers.start(d.wait) {
		return false
	}
	d.running = true
	now := d.clock()
	for _, t := range taps {
		if t.dryAt == 0 {
			t.dryAt = now
		}
	}
	d.taps = append(d.taps, taps...)
	d.dry(len(d.taps))
	return true
}

// end has the taps that wait asked again.
func (d *drought[T]) end() {
	select {
	case d.ended <- struct{}{}:
	default:
	}
}

// wait looks after the taps until there is none.
func (d *drought[T]) wait() {
	const look = 50 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		again := false
		select {
		case <-d.ended:
			again = true
		case <-tick.C:
		}
		if d.round(again) {
			return
		}
	}
}

// round answers the taps that have waited for long enough, and with again has the others asked again. It tells whether
// none is left; then the goroutine that called it is no longer the waiting one.
func (d *drought[T]) round(again bool) bool {
	d.mu.Lock()
	taps := d.taps
	d.taps = nil
	d.mu.Unlock()
	var waiting []*Tap[T]
	now := d.clock()
	for _, t := range taps {
		switch {
		case d.soldOut():
			d.answers.add(t, outcome.Result{Outcome: outcome.SoldOut}, true)
		case again && d.again(t):
		case now-t.dryAt >= droughtMS || d.workers.closed.Load():
			d.answers.add(t, outcome.Result{Outcome: outcome.Empty}, true)
		default:
			waiting = append(waiting, t)
		}
	}
	d.answers.send()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taps = append(waiting, d.taps...)
	d.running = len(d.taps) > 0
	return !d.running
}
