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
	shard  *shard[T]
	atMost time.Duration // longest wait of a tap

	mu      sync.Mutex
	taps    []*Tap[T]
	running bool
	timer   *time.Timer   // fires when the first of them has waited for atMost
	due     time.Time     // when it fires; zero if it is not set
	changed chan struct{} // stock has come, or the campaign is sold out
	answers answers[T]    // the waiting goroutine's
}

func newShortage[T any](of *shard[T]) *shortage[T] {
	timer := time.NewTimer(shortageTime)
	timer.Stop()
	return &shortage[T]{shard: of, answers: of.answers, atMost: shortageTime, timer: timer,
		changed: make(chan struct{}, 1)}
}

// add lets taps wait. If the node is stopping, it returns false and does not take them.
func (s *shortage[T]) add(taps []*Tap[T]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running && !s.shard.workers.start(s.wait) {
		return false
	}
	s.running = true
	now := time.Now()
	for _, t := range taps {
		if t.waits.IsZero() {
			t.waits = now
		}
		s.setTimer(t) // a tap that was sent again in vain has waited longer than those that are here
	}
	s.taps = append(s.taps, taps...)
	s.shard.gate.o.OnEmpty(s.shard.gate.campaign, s.shard.number, len(s.taps))
	return true
}

// setTimer makes the timer fire when t has waited for atMost, if not before. The caller holds mu.
func (s *shortage[T]) setTimer(t *Tap[T]) {
	at := t.waits.Add(s.atMost)
	if s.due.IsZero() || at.Before(s.due) {
		s.due = at
		s.timer.Reset(time.Until(at))
	}
}

// signal lets the waiting taps try again. The signal stays for taps that are with the script now, and find the shard
// empty later.
func (s *shortage[T]) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// wait serves the taps until there is none.
func (s *shortage[T]) wait() {
	for {
		again := false
		select {
		case <-s.changed:
			again = true
		case <-s.timer.C:
		case <-s.shard.workers.ending:
		}
		if more := s.round(again); !more {
			return
		}
	}
}

// round answers the taps that have waited for atMost; if again is true, it sends the others again. If more is false
// none is left, and the calling goroutine is no longer the waiting one.
func (s *shortage[T]) round(again bool) (more bool) {
	s.mu.Lock()
	taps := s.taps
	s.taps = nil
	s.mu.Unlock()
	var waiting []*Tap[T]
	for _, t := range taps {
		switch {
		case s.shard.soldOut():
			s.answers.add(t, outcome.Result{Outcome: outcome.SoldOut}, true)
		case again && s.shard.push(t):
		case time.Since(t.waits) >= s.atMost || s.shard.workers.closed.Load():
			s.answers.add(t, outcome.Result{Outcome: outcome.Empty}, true)
		default:
			waiting = append(waiting, t)
		}
	}
	s.answers.send()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taps = append(waiting, s.taps...)
	s.running = len(s.taps) > 0
	s.timer.Stop()
	s.due = time.Time{}
	for _, t := range s.taps {
		s.setTimer(t)
	}
	return s.running
}
