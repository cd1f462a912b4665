package campaigns

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"

	"redrain/grab/store"
	"redrain/rain"
	"redrain/server/cluster"
)

// simulated is a campaign whose shards, players and mover live in made-up time: each player may win once, and taps
// again and again until then; a dry tap waits as long as a gate lets it.
type simulated struct {
	now     int64 // ms
	events  simEvents
	order   int
	levels  []store.Level
	waiting [][]*simTap // by shard
	mover   *Mover
	pace    pace
	busy    bool // a round goes on
	move    int64
	every   float64 // ms between two taps of a player
	random  *rand.Rand
	won     int
	moves   int
}

// simTap is a tap that waits.
type simTap struct {
	shard    int
	answered bool
}

// simDrought is how long a tap waits, in ms.
const simDrought = 300

type simEvent struct {
	at    int64
	order int
	do    func()
}

type simEvents []simEvent

func (q simEvents) Len() int { return len(q) }
func (q simEvents) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q simEvents) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simEvents) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simEvents) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (s *simulated) after(ms int64, do func()) {
	s.order++
	heap.Push(&s.events, simEvent{s.now + ms, s.order, do})
}

// tap is a player's.
func (s *simulated) tap(shard int) {
	t := &simTap{shard: shard}
	if s.decide(t) {
		return
	}
	s.after(simDrought, func() {
		if !t.answered {
			t.answered = true // empty
			s.after(int64((0.5+s.random.Float64())*s.every), func() { s.tap(shard) })
		}
	})
}

// decide gives a packet to a tap, or has it wait.
func (s *simulated) decide(t *simTap) bool {
	if l := &s.levels[t.shard]; l.Left > 0 {
		l.Left--
		l.Won++
		s.won++
		t.answered = true
		return true
	}
	waiting := []*simTap{t}
	for _, other := range s.waiting[t.shard] {
		if !other.answered {
			waiting = append(waiting, other)
		}
	}
	s.waiting[t.shard] = waiting
	s.mover.Dry("c", cluster.DryShard{Shard: t.shard, Node: "n", Taps: len(waiting)})
	if len(s.mover.wake) > 0 && !s.busy {
		<-s.mover.wake
		s.after(moveGather.Milliseconds(), s.look)
	}
	return false
}

// look is a round of the mover.
func (s *simulated) look() {
	if s.busy {
		return
	}
	needs := s.mover.needs("c", s.levels, s.now)
	s.pace.note(s.levels, s.now)
	moves := plan(s.levels, s.pace.rates, needs, nil)
	if len(moves) > movesOfRound {
		moves = moves[:movesOfRound]
		s.mover.wake.Signal()
	}
	took := int64(0)
	for n, m := range moves {
		count := min(m.count, s.levels[m.from].Left)
		s.levels[m.from].Left -= count
		s.mover.expect("c", m.to, count)
		s.moves++
		took = s.move * int64(1+n/movesAtOnce)
		s.after(took, func() {
			s.levels[m.to].Left += count
			s.mover.expect("c", m.to, -count)
			taps := s.waiting[m.to]
			s.waiting[m.to] = nil
			for _, t := range taps {
				if !t.answered {
					s.decide(t)
				}
			}
		})
	}
	s.busy = true
	s.after(took, func() {
		s.busy = false
		if len(s.mover.wake) > 0 {
			<-s.mover.wake
			s.after(moveGather.Milliseconds(), s.look)
		}
	})
}

// TestTheLastPacketsGoToTheLastPlayers: as many players as packets, one win each, on many shards. Players tap for
// the first time within a certain time; where moves are quick each wins with the first tap, and where they are slow
// with one of the next. What moves to a shard is for those who wait there, or have waited in vain: it does not come
// twice for them, and is not taken away before they tap again.
func TestTheLastPacketsGoToTheLastPlayers(t *testing.T) {
	const players, shards = 10_000, 128
	for _, c := range []struct {
		move, every, within int64 // ms
		moves               int
	}{
		{move: 12, every: 200, within: 600, moves: 200},
		{move: 12, every: 1_000, within: 1_400, moves: 450},
		{move: 12, every: 3_000, within: 3_400, moves: 1_000},
		{move: 50, every: 1_000, within: 3_500, moves: 300},
		{move: 50, every: 3_000, within: 8_500, moves: 400},
		{move: 100, every: 3_000, within: 10_500, moves: 500},
	} {
		for seed := range uint64(3) {
			s := &simulated{levels: levelsOf(make([]int, shards)...), waiting: make([][]*simTap, shards),
				move: c.move, every: float64(c.every), random: rand.New(rand.NewPCG(seed, 7))}
			s.mover = NewMover(MoverOptions{Clock: func() int64 { return s.now }})
			s.mover.listen(true)
			for i := range shards {
				_, s.levels[i].Left = rain.ShardRange(players, shards, i)
			}
			for i := range players {
				home := rain.HomeShard(fmt.Sprint("player-", seed, "-", i), shards)
				s.after(s.random.Int64N(c.every), func() { s.tap(home) })
			}
			for tick := moveEvery.Milliseconds(); tick < 60_000; tick += moveEvery.Milliseconds() {
				s.after(tick, s.look)
			}
			for len(s.events) > 0 && s.won < players {
				e := heap.Pop(&s.events).(simEvent)
				s.now = e.at
				e.do()
			}
			t.Logf("a move takes %d ms, a tap comes each %d ms: %d were won in %d ms, with %d moves", c.move, c.every,
				s.won,
				s.now, s.moves)
			if s.won < players || s.now > c.within || s.moves > c.moves {
				t.Errorf("want all within %d ms, with %d moves at most", c.within, c.moves)
			}
		}
	}
}
