package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"redrain/rain"
)

// term is for how long a connection is good: as long as the token that its player has shown last. It runs on the
// cluster's clock, which the machine's timers follow only roughly.
type term struct {
	clock  rain.Clock
	lapsed func()       // called when it has ended, on a goroutine of its own
	ends   atomic.Int64 // Unix ms; 0: no token was shown yet

	mu    sync.Mutex
	timer *time.Timer // nil before the first token
	gone  bool        // the connection is over
}

// longestTimer bounds a timer: a token may be good for longer than a duration can be.
const longestTimer = time.Hour

// expired is what a client reads beside room.CodeExpired.
const expired = "the token has expired: come back with a new one"

// until is when the term ends, Unix ms.
func (t *term) until() int64 { return t.ends.Load() }

// over tells whether the term has ended.
func (t *term) over() bool {
	ends := t.ends.Load()
	return ends != 0 && t.clock() >= ends
}

// extend lets the term end at another time. It is false, and nothing changes, where that has passed.
func (t *term) extend(until int64) bool {
	if t.clock() >= until {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends.Store(until)
	switch {
	case t.gone:
	case t.timer == nil:
		t.timer = time.AfterFunc(t.left(), t.fired)
	default:
		t.timer.Reset(t.left())
	}
	return true
}

// left is how long the timer has to run.
func (t *term) left() time.Duration {
	return time.Duration(min(t.ends.Load()-t.clock(), longestTimer.Milliseconds())) * time.Millisecond
}

// fired ends the term, or begins anew where it was extended or the clocks differ.
func (t *term) fired() {
	t.mu.Lock()
	gone, over := t.gone, t.over()
	if !gone && !over {
		t.timer.Reset(max(t.left(), time.Millisecond))
	}
	t.mu.Unlock()
	if over && !gone {
		t.lapsed()
	}
}

// end stops the timer: the connection is over.
func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
