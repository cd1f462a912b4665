package room

import (
	"context"
	"sync"
	"time"

	"redrain/internal/loop"
)

const (
	// wheelTick is the precision of the wheel: a timer fires up to one tick late, never early.
	wheelTick  = 100 * time.Millisecond
	wheelSlots = 1024 // 102 s in one revolution: the usual timer fires the first time that its slot comes
)

// wheel is a hashed timer wheel: it holds tens of thousands of timers at the price of one. Setting and cancelling a
// timer changes two pointers and allocates nothing.
type wheel struct {
	start     time.Time
	recoverer *loop.Recoverer // a timer that panics stops no other

	mu      sync.Mutex
	tick    int64             // the last tick that was processed
	slots   [wheelSlots]timer // sentinels of rings of timers
	stopped bool
}

// timer belongs to its owner, who sets fn once. The zero timer with fn is ready to be scheduled.
type timer struct {
	fn         func()
	prev, next *timer // nil when it is not scheduled
	due        int64  // tick
}

func newWheel(recoverer *loop.Recoverer) *wheel {
	w := &wheel{start: time.Now(), recoverer: recoverer}
	for i := range w.slots {
		s := &w.slots[i]
		s.prev, s.next = s, s
	}
	return w
}

// schedule makes the timer fire once, at least d from now, on the wheel's goroutine. It moves a timer that is
// scheduled already. If the wheel has stopped, it returns false and does nothing.
func (w *wheel) schedule(t *timer, d time.Duration) bool {
	due := int64((time.Since(w.start) + d + wheelTick - 1) / wheelTick)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	t.unlink()
	t.due = max(due, w.tick+1)
	t.link(&w.slots[t.due%wheelSlots])
	return true
}

// cancel stops the timer from firing, unless it is about to: its owner must tolerate one more call.
func (w *wheel) cancel(t *timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.unlink()
}

// run fires timers until ctx ends.
func (w *wheel) run(ctx context.Context) {
	ticker := time.NewTicker(wheelTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.fire(w.advance(int64(time.Since(w.start) / wheelTick)))
		}
	}
}

func (w *wheel) fire(due []*timer) {
	for _, t := range due {
		w.recoverer.Do("room", t.fn)
	}
}

// advance processes the ticks up to now and returns the timers that are due.
func (w *wheel) advance(now int64) (due []*timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := max(w.tick+1, now-wheelSlots+1) // after a long pause, each slot once
	w.tick = now
	for tick := from; tick <= now; tick++ {
		slot := &w.slots[tick%wheelSlots]
		for t := slot.next; t != slot; {
			next := t.next
			if t.due <= now {
				t.unlink()
				due = append(due, t)
			}
			t = next
		}
	}
	return due
}

// stop makes schedule refuse from now on, and fires the timers that are scheduled. It is called when run has
// returned.
func (w *wheel) stop() { w.fire(w.clear()) }

func (w *wheel) clear() (left []*timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for i := range w.slots {
		for slot := &w.slots[i]; slot.next != slot; {
			left = append(left, slot.next)
			slot.next.unlink()
		}
	}
	return left
}

func (t *timer) link(slot *timer) {
	t.prev, t.next = slot.prev, slot
	t.prev.next, slot.prev = t, t
}

func (t *timer) unlink() {
	if t.next == nil {
		return
	}
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next = nil, nil
}
