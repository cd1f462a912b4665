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
	soldOut func() bool        // nothing is left for the lane
	dry     func(taps int)
	atMost  time.Duration // that a tap waits

	mu      sync.Mutex
	taps    []*Tap[T]
	running bool
	timer   *time.Timer   // fires when the first of them has waited for long enough
	due     time.Time     // when it fires; zero where it is not set
	news    chan struct{} // stock has come, or the campaign is sold out
	answers answers[T]    // the waiting goroutine's
}

func newDrought[T any](w *workers, a answers[T]) *drought[T] {
	timer := time.NewTimer(droughtTime)
	timer.Stop()
	return &drought[T]{workers: w, answers: a, atMost: droughtTime, timer: timer, news: make(chan struct{}, 1)}
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
		d.wake(t) // who was asked again in vain has waited for longer than those that are here
	}
	d.taps = append(d.taps, taps...)
	d.dry(len(d.taps))
	return true
}

// wake sets the timer so that it fires when t has waited for long enough, if not before. The caller holds mu.
func (d *drought[T]) wake(t *Tap[T]) {
	at := t.waits.Add(d.atMost)
	if d.due.IsZero() || at.Before(d.due) {
		d.due = at
		d.timer.Reset(time.Until(at))
	}
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
	for {
		again := false
		select {
		case <-d.news:
			again = true
		case <-d.timer.C:
		case <-d.workers.ending:
		}
		if more := d.round(again); !more {
			return
		}
	}
}

// round answers the taps that have waited for long enough, and with again has the others asked again.
// Where more is false none is left, and the goroutine that called it is no longer the waiting one.
func (d *drought[T]) round(again bool) (more bool) {
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
	d.timer.Stop()
	d.due = time.Time{}
	for _, t := range d.taps {
		d.wake(t)
	}
	return d.running
}
