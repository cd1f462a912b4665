package grab_test

import (
	"cmp"
	"testing"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// A player on several nodes has a part of the rate on each; a copy of a tap costs what any tap does and keeps its
// answer; who leaves and comes back at once has no new burst.
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
