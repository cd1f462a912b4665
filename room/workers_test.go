package room

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// Two hundred members who do not read do not slow down the others, neither in the broadcast nor afterwards.
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
			synctest.Wait() // no time passes
			for i, p := range healthy {
				if got := p.got(); len(got) != 2*n {
					t.Fatalf("at once after broadcast %d member %d has %d of %d messages", n, i, len(got), 2*n)
				}
			}
		}
		pass(l.o.WriteTimeout + time.Second)
		testenv.Equal(t, l.Members(), 20, "members that are left")
		testenv.Equal(t, value(t, l.metrics.slow), 200, "counted slow members")
		testenv.Equal(t, l.workers.running+l.workers.waiting, 0,
			"%d workers are left, and %d peers are waited for", l.workers.running, l.workers.waiting)
	})
}

func TestWorkersAreFewAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		var writing, most, written atomic.Int32
		for range 5_000 {
			l.Join("c", "u", l.newMember(&busyConn{writing: &writing, most: &most, written: &written}, nil))
		}
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 3 {
			l.Room("c").Broadcast(Rain, wave)
			synctest.Wait()
		}
		testenv.Equal(t, written.Load(), 15_000, "frames that were written")
		if n := int(most.Load()); n > l.workers.limit {
			t.Errorf("%d writes at once, want at most %d", n, l.workers.limit)
		}
		for n := 0; runtime.NumGoroutine() > before && n < 1_000_000; n++ {
			runtime.Gosched() // one that has left the bubble may still be counted for a moment
		}
		if n := runtime.NumGoroutine(); n > before || l.workers.running != 0 {
			t.Errorf("%d goroutines are left of %d, %d workers", n, before, l.workers.running)
		}
	})
}

// Results go first; the rain still gets its share.
func TestResultsOvertakeTheRain(t *testing.T) {
	p := newWorkers(nil)
	p.limit = 0 // no workers: the turns are asked for here
	isRain := map[*Member]bool{}
	for range 100 {
		m := &Member{}
		isRain[m] = true
		p.ready(Rain, listOf(Rain, m))
	}
	for range 50 {
		p.ready(Results, listOf(Results, &Member{}))
	}
	rain := 0
	for range 5 * rainShare {
		m, lane := p.next(&worker{})
		if isRain[m] != (lane == Rain) {
			t.Fatalf("a member came from the wrong lane %d", lane)
		}
		if isRain[m] {
			rain++
		}
	}
	testenv.Equal(t, rain, 5, "turns that were the rain's, of %d", 5*rainShare)
}

// busyConn counts the writes, and how many there are at once.
type busyConn struct {
	idleConn
	writing, most, written *atomic.Int32
}

func (c *busyConn) tryWrite(p []byte) (int, error) {
	if n := c.writing.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	runtime.Gosched()
	c.written.Add(1)
	c.writing.Add(-1)
	return len(p), nil
}
