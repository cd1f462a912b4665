package grab

import (
	"sync"
	"time"

	"redrain/grab/outcome"
)

// droughtTime is how long a tap waits for stock from another shard.
const droughtTime = 300 * time.Millisecond

// drought holds the taps of a shard that has nothing left, while its campaign may have more elsewhere. They are asked
// again when stock has come. Those that have waited for long enough are told that there was nothing for them this time.
type drought[T any] struct {
	workers *workers
	again   func(*Tap[T]) bool // puts a tap into the queue of its shard
	soldOut func() bool        // nothing is left of the campaign
	dry     func(taps int)
	atMost  time.Duration // that a tap waits

	mu      sync.Mutex
	taps    []*Tap[T]
	running bool
	news    chan struct{} // stock has come, or the campaign is sold out
	answers answers[T]    // the waiting goroutine's
}

func newDrought[T any](w *workers, a answers[T]) *drought[T] {
	return &drought[T]{workers: w, answers: a, atMost: droughtTime, news: make(chan struct{}, 1)}
}

// add lets taps wait. It is false at the end of the node, and they are not taken.
func (d *drought[T]) add(taps []*Tap[T]) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running && !d.workers.start(d.wait) {
		return false
	}
	d.running = true
	now := time.Now()
	for _, t := range taps {
		if t.waits.IsZero() {
			t.waits = now
		}
	}
	d.taps = append(d.taps, taps...)
	d.dry(len(d.taps))
	return true
}

// end tells the taps that wait that there is news. Where none waits the next ones hear of it: it may have come while
// they were on their way here.
func (d *drought[T]) end() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// wait looks after the taps until there is none.
func (d *drought[T]) wait() {
	timer := time.NewTimer(0) // one may have waited for long enough already, behind another tap
	defer timer.Stop()
	for {
		again := false
		select {
		case <-d.news:
			again = true
		case <-timer.C:
		case <-d.workers.ending:
		}
		rest, more := d.round(again)
		if !more {
			return
		}
		timer.Reset(rest)
	}
}

// round answers the taps that have waited for long enough, and with again has the others asked again. It returns how
// long it is until the next one has. Where more is false none is left, and the goroutine that called it is no longer
// the waiting one.
func (d *drought[T]) round(again bool) (rest time.Duration, more bool) {
	d.mu.Lock()
	taps := d.taps
	d.taps = nil
	d.mu.Unlock()
	var waiting []*Tap[T]
	for _, t := range taps {
		switch {
		case d.soldOut():
			d.answers.add(t, outcome.Result{Outcome: outcome.SoldOut}, true)
		case again && d.again(t):
		case time.Since(t.waits) >= d.atMost || d.workers.closed.Load():
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
	rest = d.atMost
	for _, t := range d.taps {
		rest = min(rest, d.atMost-time.Since(t.waits))
	}
	return rest, d.running
}
