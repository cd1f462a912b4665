package grab

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/rain"
)

func drop(i int) rain.DropID { return rain.DropID{N: int64(i), K: i % 7} }

func TestMemoryIsBounded(t *testing.T) {
	p := &player{}
	p.remember(drop(0), Result{Outcome: Won, Packet: 1, Amount: 5})
	const taps = 3 * keptResults
	for i := 1; i <= taps; i++ {
		p.remember(drop(i), Result{Outcome: Empty})
	}
	if n := len(p.lost.drops); n > keptResults+keptSlack || n != len(p.lost.outcomes) || p.wins() != 1 {
		t.Errorf("%d results are kept, %d wins", n, p.wins())
	}
	if r, ok := p.recall(drop(0)); !ok || r.Outcome != Won {
		t.Errorf("the win is forgotten: %v", r)
	}
	if _, ok := p.recall(drop(1)); ok {
		t.Error("an old result is kept")
	}
	for i := taps - keptResults + 1; i <= taps; i++ {
		if r, ok := p.recall(drop(i)); !ok || r.Outcome != Empty {
			t.Fatalf("the result %d before the last is %v", taps-i, r)
		}
	}
}

func TestTheFirstResultStays(t *testing.T) {
	p := &player{}
	p.remember(drop(1), Result{Outcome: Empty})
	p.remember(drop(1), Result{Outcome: SoldOut})
	if r, _ := p.recall(drop(1)); r.Outcome != Empty {
		t.Errorf("%v, want the first", r)
	}
	// A win that is heard of later (at a join, from another node) is stronger.
	for range 2 {
		p.remember(drop(1), Result{Outcome: Won, Packet: 3, Amount: 5})
	}
	if r, _ := p.recall(drop(1)); r.Outcome != Won || p.wins() != 1 || len(p.lost.drops) != 0 {
		t.Errorf("%v, %d wins, %d others", r, p.wins(), len(p.lost.drops))
	}
}

func TestWinsOutliveTheirRain(t *testing.T) {
	m := newMemory(nil)
	for u := range 1000 {
		user := strconv.Itoa(u)
		s := m.stripe(user)
		p := s.add(user)
		p.remember(drop(1), Result{Outcome: Empty})
		if u%10 == 0 {
			m.rememberWins(user, []rain.Win{{User: user, Packet: u, Amount: 5, Drop: "7.3"},
				{User: user, Drop: "no drop"}})
		}
	}
	next := newMemory(m)
	n := 0
	for i := range next.stripes {
		for user, p := range next.stripes[i].players {
			n++
			u, _ := strconv.Atoi(user)
			r, ok := p.recall(rain.DropID{N: 7, K: 3})
			if u%10 != 0 || !ok || r != (Result{Won, u, 5}) || len(p.lost.drops) != 0 || p.wins() != 1 {
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

// Thousands of sockets at once, duplicates in flight, versions and rains that change meanwhile: every tap has
// exactly one result.
func TestEveryTapHasOneResult(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 500, wins: 2, shards: 3, taps: 50, tapRate: 30})
	drops := []string{"0.999", "x", "99999.0"}
	for i := range 12 {
		drops = append(drops, gm.drop(i))
	}
	const goroutines, taps = 64, 60
	var all, sockets sync.WaitGroup
	var answers [goroutines * taps]atomic.Int32
	outcomes := sync.Map{}
	all.Add(goroutines * taps)
	for s := range goroutines {
		sockets.Go(func() {
			for i := range taps {
				user := "u" + strconv.Itoa((s+i)%40) // shared by several sockets
				ask(gm.gate, user, drops[(s*7+i)%len(drops)], func(r Result) {
					if answers[s*taps+i].Add(1) != 1 {
						t.Error("a second result")
						return
					}
					outcomes.Store(r.Outcome, true)
					all.Done()
				})
			}
		})
	}
	changes := make(chan struct{})
	go func() {
		defer close(changes)
		c := gm.c.Clone()
		for i := range 200 {
			c = c.Clone()
			c.Revision++
			c.Status = []rain.Status{rain.Open, rain.Paused}[i%2]
			if i%50 == 49 {
				next := *c.Current()
				next.ID += "x"
				c.Rains = append(c.Rains, next)
			}
			gm.gate.Update(c)
			gm.gate.Remember("u1", []rain.Win{{User: "u1", Packet: 0, Amount: 1, Drop: "99999.1"}})
			gm.gate.SoldOut(i % 3)
		}
	}()
	sockets.Wait()
	<-changes
	all.Wait()
	gm.g.Close()
	gm.want("last", drops[3], NotOpen) // the last version is paused
	for i := range answers {
		if n := answers[i].Load(); n != 1 {
			t.Fatalf("tap %d has %d results", i, n)
		}
	}
	if _, some := outcomes.Load(UnknownDrop); !some {
		t.Error("nobody tapped an unknown drop")
	}
	gm.balance()
	// No tap is forgotten under way.
	m := gm.gate.view.Load().memory
	for i := range m.stripes {
		for user, p := range m.stripes[i].players {
			if len(p.flying) != 0 {
				t.Errorf("%s has %d taps under way", user, len(p.flying))
			}
		}
	}
}

func TestAfterCloseTapsAreUnavailable(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{})
	first := gm.want("p", gm.drop(0), Won)
	gm.g.Close()
	gm.g.Close()
	gm.want("q", gm.drop(0), Unavailable)
	if r := gm.tap("p", gm.drop(0)); r != first {
		t.Errorf("what is known: %v", r)
	}
	if l := fmt.Sprint(gm.levels().Won); l != "1" {
		t.Errorf("%s wins", l)
	}
}

// A tap that was given up without being sent says nothing about an earlier one on the same drop, which the script
// may have decided.
func TestAnUnsentTapLeavesAnEarlierOneUndecided(t *testing.T) {
	id := rain.DropID{}
	p := &player{}
	p.landed(&Tap{Drop: id, sent: true}, Result{Outcome: Unavailable})
	p.landed(&Tap{Drop: id}, Result{Outcome: Unavailable})
	p.landed(&Tap{Drop: id, sent: true}, Result{Outcome: Unavailable})
	if len(p.undecided) != 1 {
		t.Errorf("undecided %v, want the drop once", p.undecided)
	}
	p.landed(&Tap{Drop: id, sent: true}, Result{Outcome: NotOpen})
	if len(p.undecided) != 0 {
		t.Errorf("answered, and still undecided: %v", p.undecided)
	}
	p.landed(&Tap{Drop: id}, Result{Outcome: Unavailable})
	if len(p.undecided) != 0 {
		t.Errorf("never sent, and undecided: %v", p.undecided)
	}
}
