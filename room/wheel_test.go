package room

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// runWheel runs a wheel for the rest of the bubble.
func runWheel(t *testing.T) *wheel {
	t.Helper()
	w := newWheel(nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

func TestWheelFiresInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, random := runWheel(t), testenv.Random(t)
		const revolution = wheelTick * wheelSlots
		fired := 0
		for range 2_000 {
			d := time.Duration(random.Int64N(int64(3 * revolution)))
			from := time.Now()
			tm := &timer{}
			tm.fn = func() {
				fired++
				if late := time.Since(from) - d; late < 0 || late > wheelTick {
					t.Errorf("a timer of %v fired %v after its time", d, late)
				}
			}
			w.schedule(tm, d)
			pass(time.Duration(random.Int64N(int64(wheelTick / 10))))
		}
		pass(3*revolution + wheelTick)
		testenv.Equal(t, fired, 2_000, "timers that fired")
	})
}

func TestWheelCancelsAndMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := runWheel(t)
		from := time.Now()
		var cancelled, moved []time.Duration
		c := &timer{fn: func() { cancelled = append(cancelled, time.Since(from)) }}
		m := &timer{fn: func() { moved = append(moved, time.Since(from)) }}
		w.schedule(c, time.Second)
		w.schedule(m, time.Second)
		w.cancel(c)
		w.cancel(c)
		w.schedule(m, 5*time.Second)
		pass(10 * time.Second)
		testenv.Equal(t, len(cancelled), 0, "a cancelled timer fired after %v", cancelled)
		if len(moved) != 1 || moved[0] < 5*time.Second {
			t.Errorf("a timer moved to 5 s fired at %v", moved)
		}
	})
}

// A timer may be set from its own function, and for no time at all.
func TestWheelRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := runWheel(t)
		n := 0
		tm := &timer{}
		tm.fn = func() {
			if n++; n < 5 {
				w.schedule(tm, 0)
			}
		}
		w.schedule(tm, 0)
		pass(6 * wheelTick)
		testenv.Equal(t, n, 5, "how often it fired")
	})
}

// A machine that was asleep, or too busy, for more than a revolution owes every timer of that time, once.
func TestWheelCatchesUp(t *testing.T) {
	w := newWheel(nil)
	fired := map[*timer]int{}
	for i := range 3 * wheelSlots {
		w.schedule(&timer{}, time.Duration(i)*wheelTick)
	}
	for _, now := range []int64{1, 2*wheelSlots + 7, 4 * wheelSlots} {
		for _, tm := range w.advance(now) {
			if fired[tm]++; tm.due > now {
				t.Fatalf("at tick %d a timer of tick %d fired", now, tm.due)
			}
		}
	}
	testenv.Equal(t, len(fired), 3*wheelSlots, "timers fired")
}

func TestWheelStops(t *testing.T) {
	w := newWheel(nil)
	a, b := &timer{}, &timer{}
	w.schedule(a, time.Second)
	w.schedule(b, 1_000*time.Hour)
	testenv.Equal(t, len(w.clear()), 2, "timers that are left")
	if w.schedule(a, time.Second) {
		t.Error("a stopped wheel takes a timer")
	}
	w.cancel(b)
}
