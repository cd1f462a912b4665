package room

import (
	"runtime"
	"sync"

	"redrain/internal/loop"
)

const (
	// rainShare gives every eighth time slice to the rain lane while results wait too. A storm of results slows the
	// rain down and does not stop it.
	rainShare = 8
	// yieldEvery is the number of time slices of the rain lane after which a worker lets other goroutines run. Go
	// would preempt only after 10 ms, and during a wave all workers are busy at once. Readers and deciders of taps
	// would wait for as long. Results are fewer, and players wait for them.
	yieldEvery = 16
)

// workers write the queued messages of members. A worker lives only while members are ready. There are at most as
// many as processors, because a worker never waits: it writes as much as a connection takes at once. A peer that does
// not read gets a separate goroutine (Member.writeLater), so it costs the others the time of one refused write.
//
// A goroutine for each member of a wave cost half as much CPU again when measured, and as much memory as the
// connection itself. It would also delay results: each would wait until the wave's frame is written.
type workers struct {
	limit     int // workers at once
	recoverer *loop.Recoverer

	mu      sync.Mutex
	idle    sync.Cond       // signalled when no worker runs and no goroutine waits for a peer
	queues  [laneCount]list // members that are ready
	running int             // workers at work
	waiting int             // goroutines that wait for a peer
	resting []*worker       // workers to be used again
	turns   int             // turns given while members were ready in both lanes
}

// worker is one goroutine that gives members their time slices.
type worker struct {
	pool   *workers
	member *Member // in its time slice
	batch  batch   // output of the member in its time slice
	run    func()  // work; kept, because making it is an allocation
}

func newWorkers(recoverer *loop.Recoverer) *workers {
	p := &workers{limit: runtime.GOMAXPROCS(0), recoverer: recoverer}
	p.idle.L = &p.mu
	return p
}

// ready appends members to a lane's queue. The caller has marked them as queued.
func (p *workers) ready(lane Lane, members list) {
	if members.n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[lane].append(lane, members)
	for range min(members.n, p.limit-p.running) {
		p.start()
	}
}

// again is ready for a member that the calling worker has just served: that worker continues, and no other starts.
func (p *workers) again(lane Lane, member *Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[lane].add(lane, member)
}

// start starts a worker. It needs p.mu.
func (p *workers) start() {
	var w *worker
	if last := len(p.resting) - 1; last >= 0 {
		w, p.resting = p.resting[last], p.resting[:last]
	} else {
		w = &worker{pool: p}
		w.run = w.work
	}
	p.running++
	go w.run()
}

// work gives time slices until no member is ready. A turn that panics costs only its own member the connection.
func (w *worker) work() {
	for !w.pool.recoverer.Do("room", w.serve) {
		w.pool.recoverer.Do("room", w.member.crashed)
	}
}

func (w *worker) serve() {
	rain := 0
	for {
		member, lane := w.pool.next(w)
		if member == nil {
			return
		}
		if lane == Rain {
			if rain++; rain%yieldEvery == 0 {
				runtime.Gosched()
			}
		}
		w.member = member
		if lane, again := member.turn(lane, &w.batch); again {
			w.pool.again(lane, member)
		}
	}
}

// next returns the member that is served next. If it returns nil, the worker has ended.
func (p *workers) next(w *worker) (*Member, Lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane := Results
	switch {
	case p.queues[Results].n == 0:
		lane = Rain
	case p.queues[Rain].n > 0:
		if p.turns++; p.turns%rainShare == 0 {
			lane = Rain
		}
	}
	if p.queues[lane].n > 0 {
		return p.queues[lane].pop(lane), lane
	}
	w.member = nil // keeps no member alive
	p.running--
	p.resting = append(p.resting, w)
	p.signalIdle()
	return nil, 0
}

// await runs f, which may wait for a member's peer, in a separate goroutine.
func (p *workers) await(member *Member, f func()) {
	p.mu.Lock()
	p.waiting++
	p.mu.Unlock()
	go func() {
		if !p.recoverer.Do("room", f) {
			p.recoverer.Do("room", member.crashed)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting--
		p.signalIdle()
	}()
}

// signalIdle wakes wait when nothing is left to write. It needs p.mu.
func (p *workers) signalIdle() {
	if p.running+p.waiting == 0 {
		p.idle.Broadcast()
	}
}

// wait returns when nothing is left to write.
func (p *workers) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.running+p.waiting > 0 {
		p.idle.Wait()
	}
}
