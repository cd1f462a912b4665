package room

import (
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
)

// What has been served keeps neither its messages nor, after a rush, its memory.

func TestAClosingMemberKeepsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, _ := seatPeer(t, l, nil) // reads nothing
		m.Send([]byte("its write blocks"))
		synctest.Wait()
		m.Send([]byte("queued"))
		m.Close(CodeShutdown, "")
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.lanes.empty() {
			t.Error("messages that nobody will write are kept")
		}
	})
}

func TestARestingWorkerKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m := l.newMember(idleConn{}, nil)
		m.Send(make([]byte, 4*keptBuffer))
		m.Send([]byte("and one more, so that they are joined"))
		synctest.Wait()
		for _, w := range l.workers.resting {
			if w.member != nil {
				t.Error("a resting worker keeps a member alive")
			}
			for _, f := range w.batch.frames[:cap(w.batch.frames)] {
				if f.bytes != nil {
					t.Error("a resting worker keeps a message alive")
				}
			}
		}
	})
	b := &batch{frames: []frame{{bytes: make([]byte, 4*keptBuffer)}}}
	b.assemble()
	if b.frames = []frame{{bytes: []byte("small")}}; cap(b.assemble()) > keptBuffer {
		t.Errorf("a worker keeps %d bytes after a large message", cap(b.buffer))
	}
}

func TestAnEmptyQueueIsSmall(t *testing.T) {
	var q queue
	for range 100 {
		q.push(frame{})
	}
	for range 100 {
		q.pop()
	}
	if len(q.ring) > keptRing {
		t.Errorf("an empty queue keeps room for %d frames", len(q.ring))
	}
}

// Messages are joined up to the limit, and not by one byte above it.
func TestJoinedFramesReachTheLimit(t *testing.T) {
	for last, want := range map[int]int{joinMax - 11: 2, joinMax - 10: 1} {
		var l lanes
		l[Results].push(frame{bytes: make([]byte, 10)})
		l[Results].push(frame{bytes: make([]byte, last)})
		testenv.Equal(t, len(l.take(nil)), want, "messages share a frame of %d bytes", 10+1+last)
	}
}

// The workers begin while the rest of a crowd is still being queued.
func TestACrowdIsHandedOverInParts(t *testing.T) {
	p := newWorkers(nil)
	p.limit = 0 // no workers
	h := handover{lane: Rain, to: p}
	for range handoverSize {
		h.add(&Member{})
	}
	testenv.Equal(t, p.queues[Rain].n, handoverSize, "members that the workers have")
	h.add(&Member{})
	if h.flush(); p.queues[Rain].n != handoverSize+1 || h.ready.n != 0 {
		t.Errorf("the workers have %d members, and %d are left", p.queues[Rain].n, h.ready.n)
	}
}
