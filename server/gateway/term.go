package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"redrain/rain"
)

// term is the time for which a connection is valid: as long as the latest token of its player. It runs on the
// cluster's clock, which the machine's timers follow only roughly.
type term struct {
	clock  rain.Clock
	lapsed func()       // called when it has ended, on another goroutine
	ends   atomic.Int64 // Unix ms; 0: no token yet

	mu    sync.Mutex
	timer *time.Timer // nil before the first token
	gone  bool        // the connection is over
}

// longestTimer limits a timer: a token may be valid for longer than a duration can be.
const longestTimer = time.Hour

// expired is the client's message beside room.CodeExpired.
const expired = "the token has expired: come back with a new one"

// until returns the end of the term, Unix ms.
func (t *term) until() int64 { return t.ends.Load() }

// over reports whether the term has ended.
func (t *term) over() bool {
	ends := t.ends.Load()
	return ends != 0 && t.clock() >= ends
}

// extend moves the end of the term. If that time has passed, it returns false and changes nothing.
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

// left returns the remaining time of the timer.
func (t *term) left() time.Duration {
	return time.Duration(min(t.ends.Load()-t.clock(), longestTimer.Milliseconds())) * time.Millisecond
}

// fired ends the term, or starts the timer again if the term was extended or the clocks differ.
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
