package grab_test

import (
	"sync"
	"testing"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/rain"
)

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

// Players with one quota win no more than it has. A tap that cannot win, or is answered from memory, costs nothing
// of it; and who has none is not concerned.
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
	p.left = 1 // what was limited is not remembered
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
