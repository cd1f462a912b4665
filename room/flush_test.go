package room

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Two hundred members who do not read must not be felt by those who do, neither in the broadcast nor afterwards.
func TestStalledMembersDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		for range 200 {
			m, _ := seatPeer(t, l, nil)
			l.Join("c", "stalled", m)
		}
		var healthy []*peer
		for range 20 {
			m, p := seatPeer(t, l, nil)
			l.Join("c", "u", m)
			healthy = append(healthy, p.reads())
		}
		for n := 1; n <= 3; n++ {
			l.Room("c").Broadcast(Results, []byte("result"))
			l.Room("c").Broadcast(Rain, []byte("wave"))
			pass(10 * stuckAfter)
			for i, p := range healthy {
				if got := p.got(); len(got) != 2*n {
					t.Fatalf("%v after broadcast %d member %d has %d of %d messages", 10*stuckAfter, n, i, len(got), 2*n)
				}
			}
		}
		pass(l.o.WriteTimeout + time.Second)
		if n := l.Online(); n != 20 {
			t.Errorf("%d members are left, want the 20 that read", n)
		}
		if n := value(t, l.metrics.slow); n != 200 {
			t.Errorf("counted %v slow members, want 200", n)
		}
		if l.flush.stuck != 0 || len(l.flush.workers) != 0 {
			t.Errorf("%d workers are left, %d of them stuck", len(l.flush.workers), l.flush.stuck)
		}
	})
}

// A stalled member that comes when all workers are idle, stuck or about to go must not leave anybody waiting either.
func TestNobodyIsLeftWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		p.reads()
		for range 4 * l.flush.limit {
			stalled, _ := seatPeer(t, l, nil)
			stalled.Send([]byte("never read"))
			from, before := time.Now(), len(p.got())
			m.Send([]byte("result"))
			for len(p.got()) == before && time.Since(from) < time.Second {
				pass(time.Millisecond)
			}
			if d := time.Since(from); d > 2*stuckAfter {
				t.Fatalf("a result took %v", d)
			}
		}
	})
}

func TestWorkersAreFewAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		var writing, most, written atomic.Int32
		for range 5_000 {
			l.Join("c", "u", l.NewMember(&busyConn{writing: &writing, most: &most, written: &written}, nil))
		}
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 3 {
			l.Room("c").Broadcast(Rain, wave)
			synctest.Wait()
		}
		if n := written.Load(); n != 15_000 {
			t.Errorf("%d of 15000 frames were written", n)
		}
		if n := int(most.Load()); n > l.flush.limit {
			t.Errorf("%d writes at once, want at most %d", n, l.flush.limit)
		}
		if n := runtime.NumGoroutine(); n > before || len(l.flush.workers) != 0 {
			t.Errorf("%d goroutines are left of %d, %d workers", n, before, len(l.flush.workers))
		}
	})
}

// Results go first; the rain still gets its share.
func TestResultsOvertakeTheRain(t *testing.T) {
	p := newFlushers()
	p.limit = 0 // no workers: the turns are asked for here
	defer p.watchless()
	isRain := map[*Member]bool{}
	for range 100 {
		m := &Member{}
		isRain[m] = true
		p.ready(Rain, chainOf(Rain, m))
	}
	for range 50 {
		p.ready(Results, chainOf(Results, &Member{}))
	}
	rain := 0
	for range 5 * rainTurn {
		m, lane := p.next(&worker{})
		if isRain[m] != (lane == Rain) {
			t.Fatalf("a member came from the wrong lane %d", lane)
		}
		if isRain[m] {
			rain++
		}
	}
	if rain != 5 {
		t.Errorf("%d of %d turns were the rain's, want 5", rain, 5*rainTurn)
	}
}

// A worker that is not needed goes, and leaves members to others; somebody must see to it that those are not stuck.
func TestSuperfluousWorkerLeavesAGuard(t *testing.T) {
	p := newFlushers()
	p.limit = 0
	defer p.watchless()
	other, superfluous := &worker{}, &worker{}
	p.workers[other], p.workers[superfluous] = struct{}{}, struct{}{}
	p.queues[Rain].add(Rain, &Member{})
	if m, _ := p.next(superfluous); m != nil || len(p.workers) != 1 {
		t.Errorf("%d workers are left of two, one too many", len(p.workers))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.guarded {
		t.Error("a member waits and nobody watches")
	}
}

func TestSurgeIsBounded(t *testing.T) {
	p := newFlushers()
	for range 5_000 {
		p.workers[&worker{stuck: true}] = struct{}{}
	}
	p.stuck = 5_000
	if n := p.spare(); n != p.limit+surgeMax {
		t.Errorf("with 5000 stuck, %d more may work, want %d", n, p.limit+surgeMax)
	}
}

// watchless stops the guard of flushers that have no workers.
func (p *flushers) watchless() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = [laneCount]chain{}
	if p.guard != nil {
		p.guard.Stop()
	}
}

// busyConn counts the writes, and how many there are at once.
type busyConn struct {
	idleConn
	writing, most, written *atomic.Int32
}

func (c *busyConn) SetWriteDeadline(time.Time) error {
	if n := c.writing.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	runtime.Gosched()
	c.written.Add(1)
	c.writing.Add(-1)
	return nil
}
