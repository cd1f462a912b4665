package grab_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

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
		t.Error("nobody tapped an unknown drop")
	}
	gm.Balance()
	testenv.Equal(t, gm.Gate.UnderWay(), 0, "taps are under way for ever")
}
