package grab_test

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// The rule of the house: N takers on M packets make M wins, and their sum is the budget. Every tap is sent twice at
// the same time, and half of the players use two nodes.
func TestTakersShareAllPacketsExactly(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		const players, wins, taps = 300, 2, 4
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 200, Wins: wins, Shards: 3, Split: rain.DoubleMean})
		other := gm.Node().Gate(gm.C)
		drops := make([]string, taps)
		for i := range drops {
			drops[i] = gm.Drop(i)
		}
		var mu sync.Mutex
		got := map[string]map[string]outcome.Result{} // user → drop → its result
		var answers, twice atomic.Int64
		var all sync.WaitGroup
		for p := range players {
			got["user "+strconv.Itoa(p)] = map[string]outcome.Result{}
		}
		for p := range players {
			user := "user " + strconv.Itoa(p)
			all.Go(func() {
				for _, drop := range drops {
					for copyNo := range 2 {
						gate := gm.Gate
						if copyNo == 1 && p%2 == 0 {
							gate = other
						}
						var once atomic.Bool
						all.Add(1)
						grabtest.Ask(gate, user, drop, func(r outcome.Result) {
							defer all.Done()
							answers.Add(1)
							if once.Swap(true) {
								twice.Add(1)
							}
							if r.Outcome != outcome.Won {
								return
							}
							mu.Lock()
							defer mu.Unlock()
							if before, ok := got[user][drop]; ok && before != r {
								t.Errorf("%s on %s: %v and %v", user, drop, before, r)
							}
							got[user][drop] = r
						})
					}
				}
			})
		}
		all.Wait()
		if answers.Load() != players*taps*2 || twice.Load() != 0 {
			t.Errorf("%d answers to %d taps, %d of them twice", answers.Load(), players*taps*2, twice.Load())
		}
		won, sum := 0, rain.Money(0)
		for user, results := range got {
			if len(results) > wins {
				t.Errorf("%s has %d wins", user, len(results))
			}
			for _, r := range results {
				won++
				sum += r.Amount
			}
		}
		if won != gm.C.Packets || sum != gm.C.Budget {
			t.Errorf("%d wins of %d, want %d of %d", won, sum, gm.C.Packets, gm.C.Budget)
		}
		gm.Balance()
		for _, w := range gm.Wins() {
			if r := got[w.User][w.Drop]; r.Packet != w.Packet || r.Amount != w.Amount {
				t.Errorf("the outbox has %v, the player received %v", w, r)
			}
		}
		gm.WantLevels(store.Levels{Won: 200, WonByLane: [rain.LaneCount]int{200, 0},
			AmountWon: gm.C.Budget})
	})
}

func TestAPlayerWinsAsOftenAsAllowed(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Wins: 3})
		var won []rain.Win
		for i := range 3 {
			r := gm.Want("p", gm.Drop(i), outcome.Won)
			won = append(won, rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.Drop(i)})
		}
		counted := grabtest.CountCalls(rdb)
		gm.Want("p", gm.Drop(3), outcome.Already)
		testenv.Equal(t, counted.Of("evalsha"), 0, "calls of a node that knows all the wins")
		gm.WantOn(gm.Node().Gate(gm.C), "p", gm.Drop(4), outcome.Already)
		gm.Want("q", gm.Drop(0), outcome.Won)

		testenv.Equal(t, fmt.Sprint(testenv.Got(gm.Held("p")).Must(t)), fmt.Sprint(won), "wins")
		testenv.Got(gm.Held("nobody")).Want(t, nil, "no win")
		// The limit is over all rains.
		gm.LetItRain(nil)
		gm.Gate.Update(gm.C)
		asked := counted.Of("evalsha")
		gm.Want("p", gm.Drop(0), outcome.Already)
		testenv.Equal(t, counted.Of("evalsha"), asked, "a node has forgotten the wins with their rain")
		gm.WantOn(gm.Node().Gate(gm.C), "p", gm.Drop(0), outcome.Already)
	})
}

func TestSoldOutCostsRedisNothing(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2})
		gm.Want("p", gm.Drop(0), outcome.Won)
		gm.Want("q", gm.Drop(0), outcome.Won)
		counted := grabtest.CountCalls(rdb)
		gm.Want("r", gm.Drop(0), outcome.SoldOut)
		testenv.Equal(t, counted.Of("evalsha"), 0, "calls, though sold out was known with the last win")
		other := gm.Node().Gate(gm.C)
		if r := grabtest.TapOn(other, "s", gm.Drop(0)); r.Outcome != outcome.SoldOut || counted.Of("evalsha") != 1 {
			t.Errorf("the script on an empty shard: %v", r)
		}
		heard := gm.Node().Gate(gm.C)
		heard.SoldOut(rain.LanePlayers)
		if r := grabtest.TapOn(heard, "s", gm.Drop(0)); r.Outcome != outcome.SoldOut || counted.Of("evalsha") != 1 {
			t.Errorf("a node with the notice: %v", r)
		}
		gm.LetItRain(nil)
		heard.Update(gm.C)
		// Apply is a call, too. A node that only received the notice asks once more in the next rain: stock may be
		// back.
		for _, user := range []string{"t", "u"} {
			if r := grabtest.TapOn(heard, user, gm.Drop(0)); r.Outcome != outcome.SoldOut ||
				counted.Of("evalsha") != 3 {
				t.Errorf("in the next rain: %v after %d calls", r, counted.Of("evalsha"))
			}
		}
	})
}

// If one of several shards is empty, its players wait for stock from another one. They get sold_out only when the
// campaign is empty.
func TestADryShardIsNotSoldOut(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		empty := make(chan int, 10)
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 4, Shards: 2, Wins: 9,
			Options: func(o *grabtest.Options) { o.OnEmpty = func(_ string, shard, _ int) { empty <- shard } }})
		on := func(shard int) string {
			for n := 0; ; n++ {
				if user := fmt.Sprint("u", n); rain.HomeShard(user, 2) == shard {
					return user
				}
			}
		}
		gm.Gate.WaitForStock(time.Minute) // a machine may be slow
		user := on(0)
		gm.Want(user, gm.Drop(0), outcome.Won)
		gm.Want(user, gm.Drop(1), outcome.Won)
		later := make(chan outcome.Result, 1)
		tap := func(i int) { grabtest.Ask(gm.Gate, user, gm.Drop(i), func(r outcome.Result) { later <- r }) }
		tap(2)
		testenv.Equal(t, <-empty, 0, "the empty shard")
		lent, err := gm.G.Lend(t.Context(), gm.C.ID, 1, 0, "m", 1)
		if err != nil || lent == nil {
			t.Fatal(lent, err)
		}
		testenv.Must(t, testenv.Err(gm.G.Borrow(t.Context(), gm.C.ID, *lent)))
		gm.Gate.Restocked(0)
		if r := <-later; r.Outcome != outcome.Won {
			t.Errorf("stock has come: %v", r)
		}
		gm.Balance()
	})
}

func TestTheGateAnswersWhatItCan(t *testing.T) {
	rdb := grabtest.InProcess(t)
	var now int64 // once it is set
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Wins: 100, TapRate: 20, Rain: func(r *rain.Rain) {
		r.DecoyPercent, r.FallMS, r.StartsAt = 50, 2_000, r.StartsAt-10_000
	}, Options: func(o *grabtest.Options) {
		redis := o.Clock
		o.Clock = func() int64 { return cmp.Or(now, redis()) }
	}})
	now = gm.Options.Clock()
	r := gm.C.Current()
	var decoy string
	for n := (now - r.StartsAt) / rain.WaveMS; decoy == ""; n-- {
		for _, d := range r.Wave(n).Drops {
			if d.Kind == rain.Decoy {
				decoy = rain.DropID{N: n, K: d.K}.String()
			}
		}
	}
	counted := grabtest.CountCalls(rdb)
	gm.Want("p", "07.3", outcome.UnknownDrop)
	gm.Want("p", "1000000.1", outcome.UnknownDrop)
	gm.Want("p", "2399.0", outcome.UnknownDrop) // not yet
	gm.Want("p", "1.0", outcome.Late)
	for range 20 {
		gm.Want("p", decoy, outcome.Empty) // judged anew each time, so each takes from the bucket
	}
	gm.Want("p", decoy, outcome.TooFast)
	gm.Want("p", gm.Drop(0), outcome.TooFast)
	gm.Want("p", "07.3", outcome.UnknownDrop) // an invalid drop is not too fast
	now += 50
	testenv.Equal(t, counted.Of("evalsha"), 0, "calls for local answers")
	gm.Want("p", gm.Drop(0), outcome.Won)
	gm.Want("p", gm.Drop(1), outcome.TooFast)
	gm.Want("p", gm.Drop(0), outcome.Won) // an answer that is known is not too fast
	gm.Want("q", gm.Drop(1), outcome.Won) // a bucket for each player

	paused := gm.C.Clone()
	paused.Status = rain.Paused
	paused.Revision++
	gm.Gate.Update(paused)
	gm.Want("r", gm.Drop(0), outcome.NotOpen)
	gm.Gate.Update(gm.C) // an older version
	gm.Want("r", gm.Drop(0), outcome.NotOpen)
	same := gm.C.Clone()
	same.Revision = paused.Revision
	gm.Gate.Update(same)
	gm.Want("r", gm.Drop(0), outcome.NotOpen)
	gm.Want("p", gm.Drop(0), outcome.Won) // remembered, also when paused
}

func TestGatesAreKeptAndDropped(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{})
	if gm.G.Gate(gm.C) != gm.Gate {
		t.Error("a second gate for the same campaign")
	}
	newer := gm.C.Clone()
	newer.Revision++
	newer.Status = rain.Paused
	gm.G.Gate(newer)
	gm.Want("p", gm.Drop(0), outcome.NotOpen) // the call with the newer campaign has updated the gate
	gm.G.Drop(gm.C.ID)
	if gm.G.Gate(gm.C) == gm.Gate {
		t.Error("the gate is still there")
	}
}
