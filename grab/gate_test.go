package grab

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/rain"
)

// The rule of the house: N takers on M packets make M wins, and their sum is the budget. Every tap is sent twice at
// the same time, and half of the players use two nodes.
func TestTakersShareAllPacketsExactly(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			const players, wins, taps = 300, 2, 4
			gm := newGame(t, rdb, setup{packets: 200, wins: wins, shards: 3, split: rain.DoubleMean})
			other := gm.node().Gate(gm.c)
			drops := make([]string, taps)
			for i := range drops {
				drops[i] = gm.drop(i)
			}
			var mu sync.Mutex
			got := map[string]map[string]Result{} // user → drop → its result
			var answers, twice atomic.Int64
			var all sync.WaitGroup
			for p := range players {
				got["user "+strconv.Itoa(p)] = map[string]Result{}
			}
			for p := range players {
				user := "user " + strconv.Itoa(p)
				all.Go(func() {
					for _, drop := range drops {
						for copyNo := range 2 {
							gate := gm.gate
							if copyNo == 1 && p%2 == 0 {
								gate = other
							}
							var once atomic.Bool
							all.Add(1)
							ask(gate, user, drop, func(r Result) {
								defer all.Done()
								answers.Add(1)
								if once.Swap(true) {
									twice.Add(1)
								}
								if r.Outcome != Won {
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
			if won != gm.c.Packets || sum != gm.c.Budget {
				t.Errorf("%d wins of %d, want %d of %d", won, sum, gm.c.Packets, gm.c.Budget)
			}
			gm.balance()
			for _, w := range gm.wins() {
				if r := got[w.User][w.Drop]; r.Packet != w.Packet || r.Amount != w.Amount {
					t.Errorf("the outbox has %v, the player was told %v", w, r)
				}
			}
			if l := gm.levels(); l != (Levels{Won: 200, AmountWon: gm.c.Budget}) {
				t.Errorf("levels %+v", l)
			}
		})
	}
}

func TestAPlayerWinsAsOftenAsAllowed(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{wins: 3})
			var won []rain.Win
			for i := range 3 {
				r := gm.want("p", gm.drop(i), Won)
				won = append(won, rain.Win{User: "p", Packet: r.Packet, Amount: r.Amount, Drop: gm.drop(i)})
			}
			counted := countCalls(rdb)
			gm.want("p", gm.drop(3), Already)
			if n := counted.of("evalsha"); n != 0 {
				t.Errorf("a node that knows all the wins asked %d times", n)
			}
			if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(4)); r.Outcome != Already {
				t.Errorf("on another node: %v", r)
			}
			gm.want("q", gm.drop(0), Won)

			got, err := gm.g.wins(t.Context(), gm.c, "p")
			if err != nil || fmt.Sprint(got) != fmt.Sprint(won) {
				t.Errorf("wins %v (%v), want %v", got, err, won)
			}
			if got, err := gm.g.wins(t.Context(), gm.c, "nobody"); err != nil || got != nil {
				t.Errorf("nobody has won %v (%v)", got, err)
			}
			// The limit is over all rains.
			gm.letItRain(nil)
			gm.gate.Update(gm.c)
			asked := counted.of("evalsha")
			gm.want("p", gm.drop(0), Already)
			if n := counted.of("evalsha"); n != asked {
				t.Error("a node has forgotten the wins with their rain")
			}
			if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(0)); r.Outcome != Already {
				t.Errorf("in the next rain, on another node: %v", r)
			}
		})
	}
}

func TestSoldOutCostsRedisNothing(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			type key struct {
				campaign string
				shard    int
			}
			var mu sync.Mutex
			told := map[key]int{}
			gm := newGame(t, rdb, setup{packets: 4, shards: 2, options: func(o *Options) {
				o.OnSoldOut = func(campaign string, shard int) {
					mu.Lock()
					defer mu.Unlock()
					told[key{campaign, shard}]++
				}
			}})
			// on names players whose home is that shard.
			on := func(shard, i int) string {
				for n := 0; ; n++ {
					user := fmt.Sprintf("u%d.%d.%d", shard, i, n)
					if rain.HomeShard(user, 2) == shard {
						return user
					}
				}
			}
			gm.want(on(0, 1), gm.drop(0), Won)
			gm.want(on(0, 2), gm.drop(0), Won)
			counted := countCalls(rdb)
			gm.want(on(0, 3), gm.drop(0), SoldOut)
			if n := counted.of("evalsha"); n != 0 {
				t.Errorf("sold out was known with the last win, and asked for %d times", n)
			}
			gm.want(on(1, 1), gm.drop(0), Won) // the other shard has something

			// What another node has heard.
			other := gm.node().Gate(gm.c)
			other.SoldOut(1)
			other.SoldOut(7) // nonsense does no harm
			if r := tapOn(other, on(1, 2), gm.drop(0)); r.Outcome != SoldOut {
				t.Errorf("heard of sold out, and: %v", r)
			}
			if r := tapOn(other, on(0, 4), gm.drop(0)); r.Outcome != SoldOut {
				t.Errorf("the script on an empty shard: %v", r)
			}
			gm.gate.noteSoldOut(0) // another batch has found the same
			mu.Lock()
			if len(told) != 1 || told[key{gm.c.ID, 0}] != 2 { // once by each node
				t.Errorf("told of sold out: %v", told)
			}
			mu.Unlock()

			// It is forgotten with the next rain.
			gm.letItRain(nil)
			other.Update(gm.c)
			if r := tapOn(other, on(1, 3), gm.drop(0)); r.Outcome != Won {
				t.Errorf("in the next rain: %v", r)
			}
		})
	}
}

func TestTheGateAnswersWhatItCan(t *testing.T) {
	rdb := inProcess(t)
	gm := newGame(t, rdb, setup{packets: 100, wins: 100, tapRate: 20, rain: func(r *rain.Rain) {
		r.DecoyPercent, r.FallMS, r.StartsAt = 50, 2_000, r.StartsAt-10_000
	}})
	now := gm.options.Clock()
	gm.g.o.Clock = func() int64 { return now }
	r := gm.c.Current()
	var decoy string
	for n := (now - r.StartsAt) / rain.WaveMS; decoy == ""; n-- {
		for _, d := range r.Wave(n).Drops {
			if d.Kind == rain.Decoy {
				decoy = rain.DropID{N: n, K: d.K}.String()
			}
		}
	}
	counted := countCalls(rdb)
	gm.want("p", "07.3", UnknownDrop)
	gm.want("p", "1000000.1", UnknownDrop)
	gm.want("p", "2399.0", UnknownDrop) // not yet
	gm.want("p", "1.0", Late)
	for range 20 {
		gm.want("p", decoy, Empty) // judged anew each time, so each takes from the bucket
	}
	gm.want("p", decoy, TooFast)
	gm.want("p", gm.drop(0), TooFast)
	gm.want("p", "07.3", UnknownDrop) // what is wrong anyway is not too fast
	now += 50
	if n := counted.of("evalsha"); n != 0 {
		t.Errorf("local answers cost %d calls", n)
	}
	gm.want("p", gm.drop(0), Won)
	gm.want("p", gm.drop(1), TooFast)
	gm.want("p", gm.drop(0), Won) // an answer that is known is not too fast
	gm.want("q", gm.drop(1), Won) // a bucket for each player

	paused := gm.c.Clone()
	paused.Status = rain.Paused
	paused.Revision++
	gm.gate.Update(paused)
	gm.want("r", gm.drop(0), NotOpen)
	gm.gate.Update(gm.c) // an older version
	gm.want("r", gm.drop(0), NotOpen)
	gm.want("p", gm.drop(0), Won) // remembered, also when paused
}

func TestGatesAreKeptAndDropped(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{})
	if gm.g.Gate(gm.c) != gm.gate {
		t.Error("a second gate for the same campaign")
	}
	newer := gm.c.Clone()
	newer.Revision++
	newer.Status = rain.Paused
	gm.g.Gate(newer)
	gm.want("p", gm.drop(0), NotOpen) // the gate has learned from who asked for it
	gm.g.Drop(gm.c.ID)
	if gm.g.Gate(gm.c) == gm.gate {
		t.Error("the gate is still there")
	}
}

// Who taps a drop again before the first tap is decided waits for that one, and costs Redis nothing more.
func TestATapUnderWayAnswersItsCopies(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{wins: 2})
	var sent []string
	release := make(chan struct{})
	gm.gate.shards[0] = newCoalescer(&gm.g.work, func(batch []*Tap) error {
		<-release
		for i, tap := range batch {
			sent = append(sent, tap.User+" "+tap.Drop.String())
			tap.settle(Result{Outcome: Won, Packet: len(sent)*100 + i, Amount: 1})
		}
		return nil
	})
	got := make(chan string, 10)
	tap := func(user, drop string) {
		ask(gm.gate, user, drop, func(r Result) { got <- fmt.Sprint(user, " ", drop, " ", r.Outcome, " ", r.Packet) })
	}
	first, second := gm.drop(0), gm.drop(1)
	for range 3 {
		tap("p", first)
	}
	tap("q", first)
	tap("p", second)
	close(release)
	gm.g.Close()
	close(got)
	results := map[string]int{}
	for r := range got {
		results[r]++
	}
	if len(sent) != 3 || len(results) != 3 {
		t.Errorf("sent %v, results %v; want one of each player and drop", sent, results)
	}
	for r, n := range results {
		if want := map[bool]int{true: 3, false: 1}[strings.HasPrefix(r, "p "+first+" ")]; n != want {
			t.Errorf("%q %d times, want %d", r, n, want)
		}
	}
}
