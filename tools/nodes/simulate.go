package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// costs of a batch.
type costs struct {
	batch, tap time.Duration // of Redis
	way        time.Duration // of the network, there and back
}

// setup is a fleet and its task. All shards are alike, so one is simulated.
type setup struct {
	gateways, shards int
	taps             int // per second, over all shards
}

// result is the result of one shard.
type result struct {
	perBatch float64 // taps
	busy     float64 // part of the time
	p50, p99 time.Duration
}

// gateway is one gateway's way to the shard.
type gateway struct {
	waiting []time.Duration // when the taps came
	away    bool            // a batch is with Redis
}

// event is something that happens to a gateway.
type event struct {
	at      time.Duration
	gateway int
	kind    kind
	batch   []time.Duration
}

type kind int

const (
	tapped   kind = iota // a tap has come
	reached              // a batch has reached Redis
	answered             // its answer is back
)

// events are those to come, the next one first.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push is heap.Interface's.
func (e *events) Push(x any) { *e = append(*e, x.(event)) } //nolint:forcetypeassert // nothing else comes

// Pop is heap.Interface's.
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// maxBatch is the most taps of a batch, as in package grab.
const maxBatch = 500

// shard is one shard's Redis with all its gateways.
type shard struct {
	costs
	gateways []gateway
	next     events
	free     time.Duration // when Redis has done all that has reached it

	batches, taps int
	busy          time.Duration
	took          []time.Duration
}

// simulate lets a fleet work for a while.
func simulate(s setup, c costs, during time.Duration) result {
	sh := &shard{costs: c, gateways: make([]gateway, s.gateways)}
	rate := float64(s.taps) / float64(s.shards) // of this shard
	random := rand.New(rand.NewPCG(1, 2))       //nolint:gosec // the same each time
	gap := func() time.Duration { return time.Duration(random.ExpFloat64() / rate * float64(time.Second)) }
	heap.Push(&sh.next, event{at: gap(), gateway: random.IntN(s.gateways)})
	for sh.next[0].at < during {
		e := heap.Pop(&sh.next).(event) //nolint:forcetypeassert // nothing else was pushed
		if e.kind == tapped {
			heap.Push(&sh.next, event{at: e.at + gap(), gateway: random.IntN(s.gateways)})
		}
		sh.happen(e)
	}
	slices.Sort(sh.took)
	r := result{perBatch: float64(sh.taps) / float64(max(sh.batches, 1)), busy: float64(sh.busy) / float64(during)}
	if n := len(sh.took); n > 0 {
		r.p50, r.p99 = sh.took[n/2], sh.took[n*99/100]
	}
	return r
}

func (s *shard) happen(e event) {
	g := &s.gateways[e.gateway]
	switch e.kind {
	case tapped:
		g.waiting = append(g.waiting, e.at)
		s.leave(e.gateway, e.at)
	case reached:
		work := s.batch + time.Duration(len(e.batch))*s.tap
		s.free = max(s.free, e.at) + work
		s.busy += work
		s.batches++
		s.taps += len(e.batch)
		heap.Push(&s.next, event{at: s.free + s.way/2, gateway: e.gateway, kind: answered, batch: e.batch})
	case answered:
		for _, came := range e.batch {
			s.took = append(s.took, e.at-came)
		}
		g.away = false
		s.leave(e.gateway, e.at)
	}
}

// leave sends what waits at a gateway, if it may go.
func (s *shard) leave(i int, now time.Duration) {
	g := &s.gateways[i]
	if g.away || len(g.waiting) == 0 {
		return
	}
	n := min(len(g.waiting), maxBatch)
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.away = true
	heap.Push(&s.next, event{at: now + s.way/2, gateway: i, kind: reached, batch: batch})
}
