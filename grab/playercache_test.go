package grab

import (
	"slices"
	"strconv"
	"testing"

	"redrain/grab/outcome"
	"redrain/rain"
)

func drop(i int) rain.DropID { return rain.DropID{N: int64(i), K: i % 7} }

func TestTheCacheIsBounded(t *testing.T) {
	p := &player{}
	p.remember(drop(0), outcome.Result{Outcome: outcome.Won, Packet: 1, Amount: 5})
	const taps = 3 * keptResults
	for i := 1; i <= taps; i++ {
		p.remember(drop(i), outcome.Result{Outcome: outcome.Empty})
	}
	if n := len(p.lost.drops); n > keptResults+keptSlack || n != len(p.lost.outcomes) || p.wins() != 1 {
		t.Errorf("%d results are kept, %d wins", n, p.wins())
	}
	if r, ok := p.recall(drop(0)); !ok || r.Outcome != outcome.Won {
		t.Errorf("the win is forgotten: %v", r)
	}
	if _, ok := p.recall(drop(1)); ok {
		t.Error("an old result is kept")
	}
	for i := taps - keptResults + 1; i <= taps; i++ {
		if r, ok := p.recall(drop(i)); !ok || r.Outcome != outcome.Empty {
			t.Fatalf("the result %d before the last is %v", taps-i, r)
		}
	}
}

func TestTheFirstResultStays(t *testing.T) {
	p := &player{}
	p.remember(drop(1), outcome.Result{Outcome: outcome.Empty})
	p.remember(drop(1), outcome.Result{Outcome: outcome.SoldOut})
	if r, _ := p.recall(drop(1)); r.Outcome != outcome.Empty {
		t.Errorf("%v, want the first", r)
	}
	// A win that is heard of later (at a join, from another node) is stronger.
	p.remember(drop(2), outcome.Result{Outcome: outcome.Limited})
	for range 2 {
		p.remember(drop(1), outcome.Result{Outcome: outcome.Won, Packet: 3, Amount: 5})
	}
	if r, _ := p.recall(drop(1)); r != (outcome.Result{Outcome: outcome.Won, Packet: 3, Amount: 5}) || p.wins() != 1 ||
		len(p.lost.drops) != 1 {
		t.Errorf("%v, %d wins, %d others", r, p.wins(), len(p.lost.drops))
	}
	if r, _ := p.recall(drop(2)); r.Outcome != outcome.Limited { // and takes nothing from the others
		t.Errorf("another drop: %v", r)
	}
}

// Wins are found in whatever order they were heard of.
func TestWinsAreFoundInAnyOrder(t *testing.T) {
	p := &player{}
	for _, i := range []int{5, 1, 9, 3, 7} {
		p.remember(drop(i), outcome.Result{Outcome: outcome.Won, Packet: i, Amount: 5})
	}
	for i := range 11 {
		if r, ok := p.recall(drop(i)); ok != (i%2 == 1) || ok && r.Packet != i {
			t.Errorf("drop %d: %v, %t", i, r, ok)
		}
	}
}

// Results of drops that no rain has are not kept: their keys would be those of others.
func TestOnlyDropsOfARainAreRemembered(t *testing.T) {
	for id, want := range map[rain.DropID]bool{
		{N: 1, K: 255}: true, {N: 1, K: 256}: false, {N: 1<<55 - 1}: true, {N: 1 << 55}: false, {N: 1 << 56}: false,
	} {
		p := &player{}
		p.remember(id, outcome.Result{Outcome: outcome.Empty})
		_, known := p.recall(id)
		_, next := p.recall(rain.DropID{N: id.N + 1, K: 0})
		_, none := p.recall(rain.DropID{})
		if known != want || next || none {
			t.Errorf("%v: remembered %t; its neighbour %t, the first drop %t", id, known, next, none)
		}
		first := &player{}
		first.remember(rain.DropID{}, outcome.Result{Outcome: outcome.Empty})
		if _, known := first.recall(id); known {
			t.Errorf("%v is taken for the first drop", id)
		}
	}
}

// Of whom nobody answers for minutes, no more is remembered than of others.
func TestUndecidedTapsAreBounded(t *testing.T) {
	p := &player{}
	for i := range keptResults + 10 {
		p.decided(drop(i), outcome.Result{Outcome: outcome.Unavailable}, true)
	}
	if n := len(p.undecided); n != keptResults {
		t.Errorf("%d undecided taps are kept", n)
	}
}

func TestWinsOutliveTheirRain(t *testing.T) {
	m := newPlayerCache[int](nil)
	for u := range 1000 {
		user := strconv.Itoa(u)
		s := m.stripe(user)
		p := s.add(user)
		p.remember(drop(1), outcome.Result{Outcome: outcome.Empty})
		if u%10 == 0 {
			m.addWins(user, []rain.Win{{User: user, Packet: u, Amount: 5, Drop: "7.3"},
				{User: user, Drop: "no drop"}})
		}
	}
	next := newPlayerCache(m)
	n := 0
	for i := range next.stripes {
		for user, p := range next.stripes[i].players {
			n++
			u, _ := strconv.Atoi(user)
			r, ok := p.recall(rain.DropID{N: 7, K: 3})
			if u%10 != 0 || !ok || r != (outcome.Result{Outcome: outcome.Won, Packet: u, Amount: 5}) ||
				len(p.lost.drops) != 0 || p.wins() != 1 {
				t.Errorf("%s: %+v", user, p)
			}
			if next.stripe(user) != &next.stripes[i] {
				t.Errorf("%s is on the wrong stripe", user)
			}
		}
	}
	if n != 100 {
		t.Errorf("%d players are remembered, want the 100 winners", n)
	}
}

func TestBucket(t *testing.T) {
	var b bucket
	const now = 1_000_000
	take := func(at int64, want int) {
		t.Helper()
		n := 0
		for b.take(at, 20) {
			n++
		}
		if n != want {
			t.Errorf("at %d: %d, want %d", at-now, n, want)
		}
	}
	take(now, 20)
	take(now+49, 0)
	take(now+50, 1)
	take(now+40, 0) // a clock that goes back gives nothing
	take(now+60, 0) // and takes nothing away
	take(now+100, 1)
	take(now+500, 8)
	take(now+10_000, 20)
}

// A tap that was given up without being sent says nothing about an earlier one on the same drop, which the script
// may have decided.
func TestAnUnsentTapLeavesAnEarlierOneUndecided(t *testing.T) {
	id := rain.DropID{}
	p := &player{}
	p.decided(id, outcome.Result{Outcome: outcome.Unavailable}, true)
	p.decided(id, outcome.Result{Outcome: outcome.Unavailable}, false)
	p.decided(id, outcome.Result{Outcome: outcome.Unavailable}, true)
	if len(p.undecided) != 1 {
		t.Errorf("undecided %v, want the drop once", p.undecided)
	}
	p.decided(id, outcome.Result{Outcome: outcome.NotOpen}, true)
	if len(p.undecided) != 0 {
		t.Errorf("answered, and still undecided: %v", p.undecided)
	}
	p.decided(id, outcome.Result{Outcome: outcome.Unavailable}, false)
	if len(p.undecided) != 0 {
		t.Errorf("never sent, and undecided: %v", p.undecided)
	}
}

// What the script has decided for good is remembered, so that asking again costs Redis nothing.
func TestWhatIsDecidedForGoodIsRemembered(t *testing.T) {
	for _, o := range outcome.All() {
		p := &player{}
		p.decided(drop(1), outcome.Result{Outcome: o}, true)
		forGood := slices.Contains([]outcome.Outcome{outcome.Won, outcome.Already, outcome.SoldOut, outcome.Limited,
			outcome.Empty}, o)
		if r, known := p.recall(drop(1)); known != forGood || known && r.Outcome != o {
			t.Errorf("%v: remembered as %v, %t", o, r, known)
		}
	}
}
