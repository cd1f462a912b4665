package room

import (
	"runtime"
	"sync"
	"time"
)

const (
	// workersPerCPU writers at work at once. More than the processors can run, so that a few stalled peers are not felt at
	// all before they are noticed.
	workersPerCPU = 4
	// stuckAfter is how long a turn may take before its worker counts as stuck and is replaced. A write to a healthy peer
	// takes microseconds.
	stuckAfter = 5 * time.Millisecond
	// surgeMax is how many workers may come on top while others are stuck: stalled peers are found at up to so many each
	// stuckAfter.
	surgeMax = 256
	// rainTurn is which of so many turns is the rain lane's while results wait too: a storm of results slows the rain
	// down and does not stop it.
	rainTurn = 8
)

// flushers write what is queued for members. Workers live only while members are ready, and there are few of them: a
// goroutine for each member of a wave was measured to cost half as much CPU again, and as much memory as the connection
// itself; and results would have to stand behind the wave.
//
// A peer that does not read blocks its worker for as long as WriteTimeout. Such a worker is found stuck and another
// takes its place; while more are stuck, more work, so that the loss of a whole mobile cell holds the others up for tens
// of milliseconds only.
type flushers struct {
	limit int // workers at work at once, not counting the stuck

	mu      sync.Mutex
	idle    sync.Cond            // no member is ready and no worker is left
	queues  [laneCount]chain     // members that are ready
	workers map[*worker]struct{} // all that run
	off     []*worker            // some that do not, for the next time
	stuck   int                  // how many of them are stuck
	turns   int                  // turns given while members were ready in both lanes
	guard   *time.Timer          // calls look
	guarded bool                 // guard is set
}

// worker is one goroutine that gives members their turns.
type worker struct {
	batch []frame   // room for the frames of a turn
	began time.Time // of the turn; guarded by flushers.mu
	stuck bool      // guarded by flushers.mu
}

func newFlushers() *flushers {
	p := &flushers{limit: workersPerCPU * runtime.GOMAXPROCS(0), workers: map[*worker]struct{}{}}
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
	if p.hire(members.n) < members.n {
		p.watch()
	}
}

// hire starts up to n workers, as far as there is room for them, and returns their number.
func (p *flushers) hire(n int) int {
	n = max(0, min(n, p.spare()))
	for range n {
		w := &worker{}
		if last := len(p.off) - 1; last >= 0 {
			w, p.off = p.off[last], p.off[:last]
		}
		w.began = time.Now()
		p.workers[w] = struct{}{}
		go p.work(w)
	}
	return n
}

// spare is how many more workers may work: beyond the limit, as many as are stuck, up to surgeMax.
func (p *flushers) spare() int {
	working := len(p.workers) - p.stuck
	return p.limit + min(p.stuck, surgeMax) - working
}

// watch sets the guard. It is set whenever members wait that no fresh worker has been hired for.
func (p *flushers) watch() {
	if p.guarded {
		return
	}
	p.guarded = true
	if p.guard == nil {
		p.guard = time.AfterFunc(stuckAfter, p.look)
		return
	}
	p.guard.Reset(stuckAfter)
}

// look finds stuck workers and replaces them.
func (p *flushers) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guarded = false
	if p.waiting() == 0 {
		return
	}
	now := time.Now()
	for w := range p.workers {
		if !w.stuck && now.Sub(w.began) >= stuckAfter {
			w.stuck = true
			p.stuck++
		}
	}
	p.hire(p.waiting())
	p.watch()
}

func (p *flushers) waiting() int { return p.queues[Results].n + p.queues[Rain].n }

// work gives turns until no member is ready, or there are more workers than needed.
func (p *flushers) work(w *worker) {
	for m, lane := p.next(w); m != nil; m, lane = p.next(w) {
		if lane, again := m.turn(lane, w); again {
			p.ready(lane, chainOf(lane, m))
		}
	}
}

// next is the member whose turn it is; nil tells the worker to go.
func (p *flushers) next(w *worker) (*Member, Lane) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.stuck {
		w.stuck = false
		p.stuck--
	}
	w.began = now
	lane := Results
	switch {
	case p.queues[Results].n == 0:
		lane = Rain
	case p.queues[Rain].n > 0:
		if p.turns++; p.turns%rainTurn == 0 {
			lane = Rain
		}
	}
	if p.queues[lane].n > 0 && p.spare() >= 0 {
		return p.queues[lane].pop(lane), lane
	}
	p.leave(w)
	return nil, 0
}

func (p *flushers) leave(w *worker) {
	delete(p.workers, w)
	if len(p.off) < p.limit {
		p.off = append(p.off, w)
	}
	if len(p.workers) == 0 {
		p.idle.Broadcast()
	}
	if p.waiting() > 0 { // there are workers enough, but they may all be stuck unnoticed
		p.watch()
	}
}

// wait returns when there is nothing left to write and no worker is left.
func (p *flushers) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.workers) > 0 {
		p.idle.Wait()
	}
	if p.guard != nil {
		p.guard.Stop()
	}
}

// chain is a list of members, linked by Member.next of a lane.
type chain struct {
	head, tail *Member
	n          int
}

func chainOf(lane Lane, m *Member) (c chain) {
	c.add(lane, m)
	return c
}

func (c *chain) add(lane Lane, m *Member) { c.join(lane, chain{head: m, tail: m, n: 1}) }

func (c *chain) join(lane Lane, more chain) {
	if c.n == 0 {
		*c = more
		return
	}
	c.tail.next[lane] = more.head
	c.tail = more.tail
	c.n += more.n
}

func (c *chain) pop(lane Lane) *Member {
	first := c.head
	c.head, first.next[lane] = first.next[lane], nil
	if c.n--; c.n == 0 {
		c.tail = nil
	}
	return first
}
