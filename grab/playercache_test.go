package grab

import (
	"slices"
	"testing"

	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

func drop(i int) rain.Ticket { return rain.Ticket{N: int64(i), K: i % 7} }

func recall(p *player, of rain.Ticket) (outcome.Result, bool) { return p.recall(rain.DropID(of), of) }

// outcomeOf returns the remembered outcome of a drop, or "".
func outcomeOf(p *player, of rain.Ticket) string {
	if r, known := recall(p, of); known {
		return r.Outcome.String()
	}
	return ""
}

func decided(p *player, of rain.Ticket, r outcome.Result, sent bool) {
	p.decided(rain.DropID(of), of, r, sent)
}

func TestTheCacheIsBounded(t *testing.T) {
	p := &player{}
	p.remember(drop(0), outcome.Result{Outcome: outcome.Won, Packet: 1, Amount: 5})
	const taps = 3 * keptResults
	for i := 1; i <= taps; i++ {
		p.remember(drop(i), outcome.Result{Outcome: outcome.Empty})
	}
	if n := len(p.lost.drops); n > keptResults+keptSlack || n != len(p.lost.values) || len(p.won) != 1 {
		t.Errorf("%d results are kept, %d wins", n, len(p.won))
	}
	testenv.Equal(t, outcomeOf(p, drop(0)), "won", "the win")
	testenv.Equal(t, outcomeOf(p, drop(1)), "", "an old result")
	for i := taps - keptResults + 1; i <= taps; i++ {
		testenv.Equal(t, outcomeOf(p, drop(i)), "empty", "the result %d before the last", taps-i)
	}
}

func TestTheFirstResultStays(t *testing.T) {
	p := &player{}
	p.remember(drop(1), outcome.Result{Outcome: outcome.Empty})
	p.remember(drop(1), outcome.Result{Outcome: outcome.SoldOut})
	testenv.Equal(t, outcomeOf(p, drop(1)), "empty", "the first result")
	// A win that is received later (at a join, from another node) is stronger.
	p.remember(drop(2), outcome.Result{Outcome: outcome.Limited})
	for range 2 {
		p.remember(drop(1), outcome.Result{Outcome: outcome.Won, Packet: 3, Amount: 5})
	}
	if r, _ := recall(p, drop(1)); r != (outcome.Result{Outcome: outcome.Won, Packet: 3, Amount: 5}) ||
		len(p.won) != 1 || len(p.lost.drops) != 1 {
		t.Errorf("%v, %d wins, %d others", r, len(p.won), len(p.lost.drops))
	}
	testenv.Equal(t, outcomeOf(p, drop(2)), "limited", "another drop, from which it takes nothing")
}

// Wins are found in any order of their arrival.
func TestWinsAreFoundInAnyOrder(t *testing.T) {
	p := &player{}
	for _, i := range []int{5, 1, 9, 3, 7} {
		p.remember(drop(i), outcome.Result{Outcome: outcome.Won, Packet: i, Amount: 5})
	}
	for i := range 11 {
		if r, ok := recall(p, drop(i)); ok != (i%2 == 1) || ok && r.Packet != i {
			t.Errorf("drop %d: %v, %t", i, r, ok)
		}
	}
}

// Results of drops that no rain has are not kept: their keys would be those of others.
func TestOnlyDropsOfARainAreRemembered(t *testing.T) {
	for id, want := range map[rain.Ticket]bool{
		{N: 1, K: 254}: true, {N: 1, K: 255}: false, {N: 1, K: 256}: false, {N: 1<<55 - 1}: true, {N: 1 << 55}: false,
		{N: 1 << 56}: false,
	} {
		p := &player{}
		p.remember(id, outcome.Result{Outcome: outcome.Empty})
		testenv.Equal(t, outcomeOf(p, id) != "", want, "%v is remembered", id)
		testenv.Equal(t, outcomeOf(p, rain.Ticket{N: id.N + 1, K: 0}), "", "the neighbour of %v", id)
		testenv.Equal(t, outcomeOf(p, rain.Ticket{}), "", "the first drop, beside %v", id)
		first := &player{}
		first.remember(rain.Ticket{}, outcome.Result{Outcome: outcome.Empty})
		testenv.Equal(t, outcomeOf(first, id), "", "%v, taken for the first drop", id)
	}
}

// The cache keeps as few undecided taps as other results, even if the back end is away for minutes.
func TestUndecidedTapsAreBounded(t *testing.T) {
	p := &player{}
	for i := range keptResults + 10 {
		decided(p, drop(i), outcome.Result{Outcome: outcome.Unavailable}, true)
	}
	testenv.Equal(t, len(p.undecided), keptResults, "undecided taps that are kept")
}

// Of a rain that is over only the wins are kept, and how fast the player taps.
func TestWinsOutliveTheirRain(t *testing.T) {
	m := newPlayerCache[int]()
	m.Remember("u", []rain.Win{{User: "u", Packet: 3, Amount: 5, Drop: "7.3"}, {User: "u", Drop: "no drop"}})
	p := m.stripe("u").players["u"]
	p.startRain("r1")
	p.remember(drop(1), outcome.Result{Outcome: outcome.Empty})
	decided(&p.player, drop(2), outcome.Result{}, true)
	p.bucket.take(1, 1, 1)
	p.startRain("r1")
	if _, ok := recall(&p.player, drop(1)); !ok || len(p.undecided) != 1 {
		t.Errorf("forgotten in its own rain: %+v", p.player)
	}
	p.startRain("r2")
	r, ok := recall(&p.player, rain.Ticket{N: 7, K: 3})
	if !ok || r != (outcome.Result{Outcome: outcome.Won, Packet: 3, Amount: 5}) || len(p.won) != 1 {
		t.Errorf("the win: %v", r)
	}
	if len(p.lost.drops) != 0 || len(p.undecided) != 0 || p.bucket != (bucket{at: 1}) {
		t.Errorf("kept from the rain before: %+v", p.player)
	}
}

// A player who has left is evicted when no tap of theirs is in flight. A player who has come back is kept.
func TestWhoHasLeftIsForgotten(t *testing.T) {
	c := newPlayerCache[int]()
	s := c.stripe("u")
	here := func() bool { return s.players["u"] != nil }
	c.Forget("u")
	c.addUnsure("u", "r", []rain.Win{{User: "u", Drop: "7.3"}})
	if len(s.players["u"].undecided) != 1 || len(s.players["u"].won) != 0 {
		t.Errorf("%+v", s.players["u"].player)
	}
	c.Forget("u")
	if here() {
		t.Error("who has left is kept")
	}
	first, second := &Tap[int]{User: "u"}, &Tap[int]{User: "u"}
	for _, back := range []bool{false, true} {
		p := s.add("u")
		p.undecidedTaps = []*Tap[int]{first, second}
		c.Forget("u")
		if !here() {
			t.Fatal("forgotten with a tap in flight")
		}
		if back {
			c.Remember("u", []rain.Win{{User: "u", Packet: 3, Amount: 5, Drop: "7.3"}})
		}
		if next := p.finish(first); next != second || !here() {
			t.Errorf("next is %v, here %t", next, here())
		}
		if next := p.finish(second); next != nil || here() != back {
			t.Errorf("next is %v, here %t, back %t", next, here(), back)
		}
	}
}

func TestBucket(t *testing.T) {
	var b bucket
	const now = 1_000_000
	take := func(at int64, want int) {
		t.Helper()
		n := 0
		for b.take(at, 20, 1) {
			n++
		}
		testenv.Equal(t, n, want, "at %d", at-now)
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
	id := rain.Ticket{}
	p := &player{}
	decided(p, id, outcome.Result{Outcome: outcome.Unavailable}, true)
	decided(p, id, outcome.Result{Outcome: outcome.Unavailable}, false)
	decided(p, id, outcome.Result{Outcome: outcome.Unavailable}, true)
	testenv.Equal(t, len(p.undecided), 1, "undecided: %v", p.undecided)
	decided(p, id, outcome.Result{Outcome: outcome.NotOpen}, true)
	testenv.Equal(t, len(p.undecided), 0, "answered, and still undecided: %v", p.undecided)
	decided(p, id, outcome.Result{Outcome: outcome.Unavailable}, false)
	testenv.Equal(t, len(p.undecided), 0, "never sent, and undecided: %v", p.undecided)
}

// The cache keeps final decisions of the script, so that asking again costs Redis nothing.
func TestWhatIsDecidedForGoodIsRemembered(t *testing.T) {
	for _, o := range outcome.All() {
		p := &player{}
		decided(p, drop(1), outcome.Result{Outcome: o}, true)
		forGood := slices.Contains([]outcome.Outcome{outcome.Won, outcome.Already, outcome.SoldOut, outcome.Limited,
			outcome.Empty}, o)
		if r, known := recall(p, drop(1)); known != forGood || known && r.Outcome != o {
			t.Errorf("%v: remembered as %v, %t", o, r, known)
		}
	}
}
