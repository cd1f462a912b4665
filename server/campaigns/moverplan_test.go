package campaigns

import (
	"math/rand/v2"
	"slices"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/cluster"
)

// levelsOf are shards that Redis knows, with so much left.
func levelsOf(left ...int) []store.Level {
	levels := make([]store.Level, len(left))
	for i, n := range left {
		levels[i] = store.Level{Known: true, Left: n}
	}
	return levels
}

// waitOn are shards where taps wait.
func waitOn(dry map[int]int) map[int]need {
	needs := map[int]need{}
	for shard, taps := range dry {
		needs[shard] = need{waiting: taps}
	}
	return needs
}

func TestPlan(t *testing.T) {
	lost := levelsOf(0, 100, 100)
	lost[1].Known = false
	for name, c := range map[string]struct {
		levels []store.Level
		rates  []float64
		dry    map[int]int
		needs  map[int]need // defaults to the waiting taps above
		want   []transfer
	}{
		"nobody asks":     {levels: levelsOf(0, 100), want: nil},
		"nothing is left": {levels: levelsOf(0, 0), dry: map[int]int{0: 9}, want: nil},
		"taps wait": {levels: levelsOf(0, 100), dry: map[int]int{0: 9},
			want: []transfer{{1, 0, 9}}},
		"taps wait, and stock is there": {levels: levelsOf(10, 100), dry: map[int]int{0: 9}, want: nil},
		"stock will soon be gone": {levels: levelsOf(9, 100), rates: []float64{10, 0},
			want: []transfer{{1, 0, 11}}},
		"stock will do for now": {levels: levelsOf(11, 100), rates: []float64{10, 0}, want: nil},
		"the one with most gives first": {levels: levelsOf(0, 3, 5), dry: map[int]int{0: 6},
			want: []transfer{{2, 0, 5}, {1, 0, 1}}},
		"a lost shard neither gives": {levels: lost, dry: map[int]int{0: 150}, want: []transfer{{2, 0, 100}}},
		"nor gets":                   {levels: lost, dry: map[int]int{1: 5}, want: nil},
		"the last packet, to who waits": {levels: levelsOf(0, 1), rates: []float64{0, 0.4}, dry: map[int]int{0: 1},
			want: []transfer{{1, 0, 1}}},
		"not from those who wait as well": {levels: levelsOf(0, 1, 0), dry: map[int]int{0: 1, 1: 1, 2: 1}, want: nil},
		"taps have waited in vain": {levels: levelsOf(0, 9), needs: map[int]need{0: {missed: 2}},
			want: []transfer{{1, 0, 2}}},
		"their stock stays": {levels: levelsOf(0, 2, 1), needs: map[int]need{0: {waiting: 1}, 1: {missed: 2}},
			want: []transfer{{2, 0, 1}}},
		"but for those who wait": {levels: levelsOf(0, 2), needs: map[int]need{0: {waiting: 1}, 1: {missed: 2}},
			want: []transfer{{1, 0, 1}}},
		"a made-up shard":  {levels: levelsOf(5, 5), dry: map[int]int{7: 5, -1: 5}, want: nil},
		"a made-up number": {levels: levelsOf(0, 5), dry: map[int]int{0: -4}, want: nil},
	} {
		rates := c.rates
		if rates == nil {
			rates = make([]float64, len(c.levels))
		}
		needs := c.needs
		if needs == nil {
			needs = waitOn(c.dry)
		}
		if name == "not from those who wait as well" {
			// Which of the three gets the only packet does not matter, as long as it stays where taps wait.
			if got := plan(c.levels, rates, needs, nil); len(got) > 1 {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		testenv.Equal(t, plan(c.levels, rates, needs, nil), c.want, "%s", name)
	}
}

// Three properties hold for any stock and demand:
//
//   - No shard gives more than it has, or gives and gets.
//   - A shard on which taps wait has stock afterwards, if there is any.
//   - After a plan there is no more to move, so stock does not oscillate.
func TestPlanProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := 1 + r.IntN(12)
		levels, rates, dry := levelsOf(make([]int, n)...), make([]float64, n), map[int]int{}
		total, most := 0, 1+r.IntN(40)
		for i := range n {
			levels[i].Known = r.IntN(10) > 0
			if r.IntN(3) > 0 {
				levels[i].Left = r.IntN(most)
			}
			if r.IntN(2) == 0 {
				rates[i] = r.ExpFloat64() * float64(r.IntN(30))
			}
			if r.IntN(4) == 0 {
				dry[i] = 1 + r.IntN(20)
			}
			if levels[i].Known {
				total += levels[i].Left
			}
		}
		needs := waitOn(dry)
		for i := range n {
			if r.IntN(5) == 0 {
				one := needs[i]
				one.missed = 1 + r.IntN(9)
				needs[i] = one
			}
		}
		before := slices.Clone(levels)
		moves := plan(levels, rates, needs, nil)
		gave, got := map[int]bool{}, map[int]bool{}
		for _, m := range moves {
			gave[m.from], got[m.to] = true, true
			levels[m.from].Left -= m.count
			levels[m.to].Left += m.count
			if m.count < 1 || m.from == m.to || levels[m.from].Left < 0 || !levels[m.from].Known ||
				!levels[m.to].Known {
				t.Fatalf("%+v, %v, %v: %v", before, rates, dry, moves)
			}
		}
		thirsty := 0
		for i := range n {
			if gave[i] && got[i] {
				t.Fatalf("shard %d gives and gets: %+v, %v, %v: %v", i, before, rates, dry, moves)
			}
			if dry[i] > 0 && levels[i].Known {
				thirsty++
			}
		}
		for i := range n {
			switch {
			case dry[i] == 0 || !levels[i].Known || levels[i].Left > 0 || total == 0:
			case total >= sumOf(dry):
				t.Fatalf("shard %d starves: %+v, %v, %v: %v", i, before, rates, dry, moves)
			}
			if dry[i] == 0 && levels[i].Known && levels[i].Left > 0 && total < thirsty {
				t.Fatalf("shard %d keeps what others wait for: %+v, %v, %v: %v", i, before, rates, dry, moves)
			}
		}
		if again := plan(levels, rates, needs, nil); len(again) > 0 {
			t.Fatalf("%+v, %v, %v: %v, and then %v", before, rates, dry, moves, again)
		}
	}
}

func sumOf(dry map[int]int) (sum int) {
	for _, n := range dry {
		sum += n
	}
	return sum
}

// Two shards with few taps share the last packet: it moves to a waiting tap, and rests without one.
func TestTheLastPacketRests(t *testing.T) {
	levels := levelsOf(1, 0, 0)
	p := &pace{}
	p.note(levels, 0)
	levels[0].Won, levels[1].Won, levels[2].Won = 50, 50, 40
	p.note(levels, 200)
	moved, last := 0, 0
	for round := range 1000 {
		moves := plan(levels, p.rates, nil, nil)
		for _, m := range moves {
			levels[m.from].Left -= m.count
			levels[m.to].Left += m.count
			moved, last = moved+1, round
		}
		p.note(levels, int64(400+200*round))
	}
	if moved > 2 {
		t.Errorf("it moved %d times, in the end in round %d", moved, last)
	}
}

// The rate of a shard follows the last half second. A shard without wins for a while has the rate 0.
func TestPace(t *testing.T) {
	p, levels := &pace{}, levelsOf(0, 0)
	now := int64(1_000)
	p.note(levels, now)
	for range 10 {
		now += 200
		levels[0].Won += 20
		p.note(levels, now)
	}
	if p.rates[0] < 95 || p.rates[0] > 100 || p.rates[1] != 0 {
		t.Errorf("rates %v", p.rates)
	}
	p.note(levels, now) // at the same moment
	levels[0].Won = 3   // a shard that was rebuilt knows fewer
	for range 30 {
		now += 200
		p.note(levels, now)
	}
	testenv.Equal(t, p.rates[0], 0, "rates %v", p.rates)
}

// Wins on a shard while it was unknown do not raise its rate when it is back.
func TestAnUnknownShardHasNoPace(t *testing.T) {
	p, levels := &pace{}, levelsOf(5, 5)
	levels[0].Won, levels[1] = 1000, store.Level{}
	p.note(levels, 0)
	levels[1] = store.Level{Known: true, Won: 1000} // read for the first time
	p.note(levels, 1000)
	levels[0] = store.Level{} // its master is away
	p.note(levels, 2000)
	levels[0] = store.Level{Known: true, Won: 1000} // and back
	p.note(levels, 3000)
	testenv.Equal(t, p.rates, []float64{0, 0}, "rates without a win")
	levels[0].Won, levels[1].Won = 1010, 1020
	p.note(levels, 4000)
	testenv.Equal(t, p.rates, []float64{10, 20}, "rates")
}

func TestSoldOutIsOfTheCampaign(t *testing.T) {
	c := &rain.Campaign{Spec: rain.Spec{Packets: 10}}
	levels := levelsOf(0, 0)
	levels[0].Won, levels[1].Won = 4, 5
	if soldOut(levels, c.Packets) {
		t.Error("one is in flight")
	}
	levels[1].Won = 6
	if !soldOut(levels, c.Packets) {
		t.Error("all are won")
	}
	levels[0].Known = false
	if soldOut(levels, c.Packets) {
		t.Error("a lost shard may get some back")
	}
}

// TestDryIsHeardOncePerNode: a node reports its waiting taps again and again, and only the last report counts. It
// counts for a short while, less the wins on that shard since. A node that moves no stock keeps no reports.
func TestDryIsHeardOncePerNode(t *testing.T) {
	now := int64(1_000)
	m := NewMover(MoverOptions{Node: Node{Clock: func() int64 { return now }}})
	m.Dry("c", cluster.DryShard{Shard: 1, Node: "a", Taps: 5})
	if m.demands != nil || len(m.wake) > 0 {
		t.Error("it listens without moving stock")
	}
	m.listen(true)
	for _, taps := range []int{1, 2, 3} {
		m.Dry("c", cluster.DryShard{Shard: 1, Node: "a", Taps: taps})
		now += 50
	}
	m.Dry("c", cluster.DryShard{Shard: 1, Node: "b", Taps: 4})
	m.Dry("c", cluster.DryShard{Shard: 2, Node: "b", Taps: -4})
	levels := levelsOf(0, 0, 0)
	levels[1].Won = 30
	if got := m.needs("c", levels, now); got[1] != (need{waiting: 7}) || got[2] != (need{}) || len(m.wake) != 1 {
		t.Errorf("%v wait", got)
	}
	now += demandMS - 40
	if got := m.needs("c", levels, now); got[1] != (need{waiting: 4, missed: 3}) {
		t.Errorf("%v wait", got)
	}
	levels[1].Won += 2 // of those who waited
	if got := m.needs("c", levels, now); got[1] != (need{waiting: 2, missed: 1}) {
		t.Errorf("%v wait", got)
	}
	levels[1].Won += 2
	if got := m.needs("c", levels, now); got[1] != (need{}) {
		t.Errorf("%v wait", got)
	}
	m.Dry("c", cluster.DryShard{Shard: 1, Node: "a", Taps: 2}) // others, or the same again
	if got := m.needs("c", levels, now); got[1] != (need{waiting: 2}) {
		t.Errorf("%v wait", got)
	}
	levels[1].Won = 3 // rebuilt, it knows fewer: who waits may be any of those who did
	if got := m.needs("c", levels, now); got[1] != (need{waiting: 6}) {
		t.Errorf("%v wait", got)
	}
	m.Dry("c", cluster.DryShard{Shard: 77, Node: "a", Taps: 2})
	m.Dry("c", cluster.DryShard{Shard: -1, Node: "a", Taps: 2})
	if got := m.needs("c", levels, now); len(got) != 2 || got[77] != (need{}) || got[-1] != (need{}) {
		t.Errorf("%v wait", got)
	}
	// Stock in flight is for waiting taps.
	m.expect("c", 2, 5)
	m.Dry("c", cluster.DryShard{Shard: 2, Node: "b", Taps: 8})
	m.expect("c", 2, -5)
	if got := m.needs("c", levels, now); got[2] != (need{waiting: 3}) || len(m.coming) != 0 {
		t.Errorf("%v wait, %v are in flight", got, m.coming)
	}
	if now += returnMS; len(m.needs("c", levels, now)) != 0 || len(m.demands["c"]) != 0 {
		t.Errorf("%v are kept", m.demands)
	}
}
