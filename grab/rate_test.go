package grab_test

import (
	"cmp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// A player on several nodes has a part of the rate on each. A copy of a tap costs as much as any tap and keeps its
// answer. A player who leaves and comes back at once has no new burst.
func TestTheRateIsAPlayersWhereverTheyTap(t *testing.T) {
	rdb := grabtest.InProcess(t)
	var now int64
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Wins: 100, TapRate: 20, Rain: func(r *rain.Rain) {
		r.FallMS, r.StartsAt = 20_000, r.StartsAt-10_000
	}, Options: func(o *grabtest.Options) {
		redis := o.Clock
		o.Clock = func() int64 { return cmp.Or(now, redis()) }
	}})
	now = gm.Options.Clock()
	tap := func(user string, nodes, drop int) outcome.Outcome {
		t.Helper()
		id, _ := rain.ParseDrop(gm.Drop(drop))
		got := make(chan outcome.Result, 1)
		r, known := gm.Gate.Tap(&grab.Tap[grabtest.Done]{User: user, Drop: id, Nodes: nodes,
			Caller: func(r outcome.Result) { got <- r }})
		if known {
			return r.Outcome
		}
		return (<-got).Outcome
	}
	taken := func(user string, nodes, from int) (n int) {
		t.Helper()
		for tap(user, nodes, from+n) != outcome.TooFast {
			n++
		}
		return n
	}
	testenv.Equal(t, taken("two", 2, 0), 10, "taps at once on one of two nodes")
	now += 500
	testenv.Equal(t, taken("two", 2, 10), 5, "taps in half a second on one of two nodes")
	gm.Gate.Forget("two")
	testenv.Equal(t, taken("two", 2, 20), 0, "taps of one who has just left")
	gm.Gate.Forget("two")
	gm.Gate.Forget("somebody")
	now += 1000
	testenv.Equal(t, taken("two", 1, 30), 20, "taps at once, a second later and on one node")

	if first := tap("copies", 1, 0); first != outcome.Won {
		t.Fatal(first)
	}
	for range 30 {
		if again := tap("copies", 1, 0); again != outcome.Won {
			t.Fatalf("a copy is %v", again)
		}
	}
	testenv.Equal(t, tap("copies", 1, 1), outcome.TooFast, "after 30 copies")
	for i := range 3 {
		if o := tap("many", 100, i); (o == outcome.TooFast) != (i > 0) { // one at least
			t.Errorf("tap %d on one of 100 nodes: %v", i, o)
		}
	}
}

// purse is an quota of so many wins.
type purse struct {
	mu           sync.Mutex
	left, flying int
	won, lost    int
	uncounted    int // wins that no Take has counted
}

func (p *purse) Take() (outcome.Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flying == p.left {
		return outcome.Limited, false
	}
	p.flying++
	return 0, true
}

func (p *purse) Settle(taken, won bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case taken && won:
		p.left--
		p.won++
	case taken:
		p.lost++
	case won:
		p.uncounted++
	}
	if taken {
		p.flying--
	}
}

func (p *purse) is(t *testing.T, won, lost int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.won != won || p.lost != lost || p.flying != 0 || p.uncounted != 0 {
		t.Errorf("%d won and %d lost, want %d and %d; %d in the air, %d not counted", p.won, p.lost, won, lost,
			p.flying, p.uncounted)
	}
}

// tap taps with the quota.
func (p *purse) tap(t *testing.T, gate *grabtest.Gate, user, drop string, want outcome.Outcome) {
	t.Helper()
	id, ok := rain.ParseDrop(drop)
	if !ok {
		t.Fatal(drop)
	}
	results := make(chan outcome.Result, 2)
	r, known := gate.Tap(&grab.Tap[grabtest.Done]{User: user, Drop: id, Quota: p,
		Caller: func(r outcome.Result) { results <- r }})
	if !known {
		r = <-results
	}
	if r.Outcome != want || len(results) > 0 {
		t.Errorf("%s on %s: %v, want %v; %d more results", user, drop, r.Outcome, want, len(results))
	}
}

// Players with one quota win no more than it has. A tap that cannot win, or is answered from memory, costs nothing of
// it. Players without a quota are not limited.
func TestAnAllowance(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 9, Wins: 2})
	p := &purse{left: 3}
	tap := func(user string, drop string, want outcome.Outcome) { t.Helper(); p.tap(t, gm.Gate, user, drop, want) }
	tap("a", gm.Drop(0), outcome.Won)
	tap("a", gm.Drop(0), outcome.Won) // again
	tap("a", gm.Drop(1), outcome.Won)
	tap("a", gm.Drop(2), outcome.Already)
	p.is(t, 2, 0)
	tap("b", gm.Drop(0), outcome.Won)
	tap("b", gm.Drop(1), outcome.Limited)
	tap("c", gm.Drop(0), outcome.Limited)
	p.is(t, 3, 0)
	gm.Want("d", gm.Drop(0), outcome.Won)
	p.left = 1 // limited taps are not cached
	tap("c", gm.Drop(0), outcome.Won)
	gm.Gate.SoldOut(rain.LanePlayers)
	p.left = 1
	tap("e", gm.Drop(0), outcome.SoldOut)
	p.is(t, 4, 0)
}

// A tap that the script refuses, or does not receive, returns its quota.
func TestAnAllowanceIsGivenBack(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 9})
	p := &purse{left: 5}
	other := gm.Node().Gate(gm.C)
	gm.Want("a", gm.Drop(0), outcome.Won)
	// All that one player may win is won already, which this node does not know.
	p.tap(t, other, "a", gm.Drop(1), outcome.Already)
	p.is(t, 0, 1)
	gm.G.Gates.Close()
	p.tap(t, gm.Gate, "b", gm.Drop(1), outcome.Unavailable)
	p.is(t, 0, 2)
}

// Thousands of sockets at once, duplicates in flight, versions and rains that change meanwhile: every tap has
// exactly one result.
func TestEveryTapHasOneResult(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t),
		grabtest.Setup{Packets: 500, Wins: 2, Shards: 3, Taps: 50, TapRate: 30})
	drops := []string{"0.999", "x", "99999.0"}
	for i := range 12 {
		drops = append(drops, gm.Drop(i))
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
				grabtest.Ask(gm.Gate, user, drops[(s*7+i)%len(drops)], func(r outcome.Result) {
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
		c := gm.C.Clone()
		for i := range 200 {
			c = c.Clone()
			c.Revision++
			c.Status = []rain.Status{rain.Open, rain.Paused}[i%2]
			if i%50 == 49 {
				next := *c.Current()
				next.ID += "x"
				c.Rains = append(c.Rains, next)
			}
			gm.Gate.Update(c)
			gm.Gate.Remember("u1", []rain.Win{{User: "u1", Packet: 0, Amount: 1, Drop: "99999.1"}})
			switch i % 4 {
			case 0:
				gm.Gate.SoldOut(rain.LanePlayers)
			case 1:
				gm.Gate.Restocked(i % 3)
			case 2:
				gm.Gate.Forget("u" + strconv.Itoa(i%40))
			default:
				gm.Gate.Restored()
			}
		}
	}()
	sockets.Wait()
	<-changes
	all.Wait()
	gm.G.Close()
	gm.Want("last", drops[3], outcome.NotOpen) // the last version is paused
	for i := range answers {
		if n := answers[i].Load(); n != 1 {
			t.Fatalf("tap %d has %d results", i, n)
		}
	}
	if _, some := outcomes.Load(outcome.UnknownDrop); !some {
		t.Error("no player tapped an unknown drop")
	}
	gm.Balance()
	testenv.Equal(t, gm.Gate.UnderWay(), 0, "taps are in flight for ever")
}
