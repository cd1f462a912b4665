package room

import (
	"runtime"
	"sync"
)

// rainTurn is which of so many turns is the rain lane's while results wait too: a storm of results slows the rain
// down and does not stop it.
const rainTurn = 8

// rainSpell is after how many turns of the rain lane a worker lets other goroutines go first. Unasked, Go would do
// that after 10 ms, and all workers are at a wave at once: those who read taps and those who decide them would wait
// for as long. Results are not as many, and are waited for.
const rainSpell = 16

// flushers write what is queued for members. Workers live only while members are ready, and there are no more of
// them than processors, because a worker never waits: it writes what a connection takes at once. Of a peer that
// does not read, a goroutine of its own awaits that it reads on (Member.await). So a stalled peer costs the others
// the time of one refused write.
//
// A goroutine for each member of a wave was measured to cost half as much CPU again, and as much memory as the
// connection itself; and results would have to stand behind the wave.
type flushers struct {
	limit int // workers at once

	mu       sync.Mutex
	idle     sync.Cond        // no member is ready, no worker is left and nothing is awaited
	queues   [laneCount]chain // members that are ready
	working  int              // workers at work
	awaiting int              // goroutines that wait for a peer
	off      []*worker        // those that are not at work
	turns    int              // turns given while members were ready in both lanes
}

// worker is one goroutine that gives members their turns.
type worker struct {
	flush *flushers
	batch []frame // room for the frames of a turn
	wire  []byte  // room for what is written in a turn
	run   func()  // work; kept, because to make it is an allocation
}

// keptWire is how many bytes a worker keeps room for from one turn to the next.
const keptWire = 2 * joinMax

func newFlushers() *flushers {
	p := &flushers{limit: runtime.GOMAXPROCS(0)}
	p.idle.L = &p.mu
	return p
}

// ready puts members at the end of a lane's queue. The caller has marked them as queued.
func (p *flushers) ready(lane Lane, members chain) {
	if members.n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[lane].join(lane, members)
	for range min(members.n, p.limit-p.working) {
		p.hire()
	}
}

// again is ready for a member that the calling worker has just served: the worker goes on, and needs no help with it.
func (p *flushers) again(lane Lane, m *Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[lane].add(lane, m)
}

// hire sets a worker to work. It needs p.mu.
func (p *flushers) hire() {
	var w *worker
	if last := len(p.off) - 1; last >= 0 {
		w, p.off = p.off[last], p.off[:last]
	} else {
		w = &worker{flush: p}
		w.run = w.work
	}
	p.working++
	go w.run()
}

// work gives turns until no member is ready.
func (w *worker) work() {
	rain := 0
	for m, lane := w.flush.next(w); m != nil; m, lane = w.flush.next(w) {
		if lane == Rain {
			if rain++; rain%rainSpell == 0 {
				runtime.Gosched()
			}
		}
		if lane, again := m.turn(lane, w); again {
			w.flush.again(lane, m)
		}
	}
}

// next is the member whose turn it is. With nil the worker is off.
func (p *flushers) next(w *worker) (*Member, Lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane := Results
	switch {
	case p.queues[Results].n == 0:
		lane = Rain
	case p.queues[Rain].n > 0:
		if p.turns++; p.turns%rainTurn == 0 {
			lane = Rain
		}
	}
	if p.queues[lane].n > 0 {
		return p.queues[lane].pop(lane), lane
	}
	p.working--
	p.off = append(p.off, w)
	p.rest()
	return nil, 0
}

// await runs wait in a goroutine of its own, which may wait for a peer.
func (p *flushers) await(wait func()) {
	p.mu.Lock()
	p.awaiting++
	p.mu.Unlock()
	go func() {
		wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.awaiting--
		p.rest()
	}()
}

// rest tells those who wait for it that nothing is left to write. It needs p.mu.
func (p *flushers) rest() {
	if p.working+p.awaiting == 0 {
		p.idle.Broadcast()
	}
}

// wait returns when there is nothing left to write.
func (p *flushers) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.working+p.awaiting > 0 {
		p.idle.Wait()
	}
}
