package grab

import (
	"sync"
	"time"

	"redrain/grab/outcome"
)

// shortageTime is the longest that a tap waits for stock from another shard.
const shortageTime = 300 * time.Millisecond

// shortage holds the taps of an empty shard while its campaign may have stock elsewhere. They are sent again when
// stock has come. A tap that has waited for atMost is answered with its losing result.
type shortage[T any] struct {
	of     *shard[T]
	atMost time.Duration // longest wait of a tap

	mu      sync.Mutex
	taps    []*Tap[T]
	running bool
	timer   *time.Timer   // fires when the first of them has waited for atMost
	due     time.Time     // when it fires; zero if it is not set
	news    chan struct{} // stock has come, or the campaign is sold out
	answers answers[T]    // the waiting goroutine's
}

func newShortage[T any](of *shard[T]) *shortage[T] {
	timer := time.NewTimer(shortageTime)
	timer.Stop()
	return &shortage[T]{of: of, answers: of.answers, atMost: shortageTime, timer: timer, news: make(chan struct{}, 1)}
}

// add lets taps wait. If the node is stopping, it returns false and does not take them.
func (d *shortage[T]) add(taps []*Tap[T]) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running && !d.of.workers.start(d.wait) {
		return false
	}
	d.running = true
	now := time.Now()
	for _, t := range taps {
		if t.waits.IsZero() {
			t.waits = now
		}
		d.wake(t) // a tap that was sent again in vain has waited longer than those that are here
	}
	d.taps = append(d.taps, taps...)
	d.of.gate.o.OnEmpty(d.of.gate.campaign, d.of.number, len(d.taps))
	return true
}

// wake sets the timer so that it fires when t has waited for atMost, if not before. The caller holds mu.
func (d *shortage[T]) wake(t *Tap[T]) {
	at := t.waits.Add(d.atMost)
	if d.due.IsZero() || at.Before(d.due) {
		d.due = at
		d.timer.Reset(time.Until(at))
	}
}

// end notifies the waiting taps of news. If none waits, the next ones receive it: the news may have come while they
// were in flight.
func (d *shortage[T]) end() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// wait serves the taps until there is none.
func (d *shortage[T]) wait() {
	for {
		again := false
		select {
		case <-d.news:
			again = true
		case <-d.timer.C:
		case <-d.of.workers.ending:
		}
		if more := d.round(again); !more {
			return
		}
	}
}

// round answers the taps that have waited for atMost; if again is true, it sends the others again. If more is false
// none is left, and the calling goroutine is no longer the waiting one.
func (d *shortage[T]) round(again bool) (more bool) {
	d.mu.Lock()
	taps := d.taps
	d.taps = nil
	d.mu.Unlock()
	var waiting []*Tap[T]
	for _, t := range taps {
		switch {
		case d.of.soldOut():
			d.answers.add(t, outcome.Result{Outcome: outcome.SoldOut}, true)
		case again && d.of.push(t):
		case time.Since(t.waits) >= d.atMost || d.of.workers.closed.Load():
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
