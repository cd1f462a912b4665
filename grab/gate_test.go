package grab

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// The rule of the house: N takers on M packets make M wins, and their sum is the budget. Every tap is sent twice at the same time,
// and half of the players use two nodes.
func TestTakersShareAllPacketsExactly(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
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
			user := "user " + strconv.Itoa(p)
			got[user] = map[string]Result{}
			all.Go(func() {
				for _, drop := range drops {
					for copyNo := range 2 {
						gate := gm.gate
						if copyNo == 1 && p%2 == 0 {
							gate = other
						}
						var once atomic.Bool
						all.Add(1)
						gate.Tap(user, drop, func(r Result) {
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

func TestAWinIsGivenAgain(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 2})
		drop := gm.drop(0)
		first := gm.want("张三", drop, Won)
		again := func(when string, gate *Gate) {
			t.Helper()
			if r := tapOn(gate, "张三", drop); r != first {
				t.Errorf("%s: %v, want %v", when, r, first)
			}
		}
		again("on the same node", gm.gate)
		again("on another node", gm.node().Gate(gm.c))

		gm.want("other", drop, Won)
		gm.want("third", drop, SoldOut)
		again("sold out, on the same node", gm.gate)
		again("sold out, on another node", gm.node().Gate(gm.c))

		// The other nodes have not heard what happens from here on, so that the script has to say it.
		stale := gm.c.Clone()
		gm.c.Status = rain.Paused
		gm.apply()
		again("paused", gm.node().Gate(stale))
		gm.c.Rains[0].StoppedAt = gm.options.Clock()
		gm.apply()
		again("the rain was stopped", gm.node().Gate(stale))
		if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
			t.Fatal(err)
		}
		again("closed", gm.node().Gate(stale))

		node := gm.node().Gate(stale)
		node.Remember("张三", []rain.Win{{User: "张三", Packet: first.Packet, Amount: first.Amount, Drop: drop}})
		counted := countCalls(rdb)
		again("told at the join", node)
		if n := counted.of("evalsha"); n != 0 {
			t.Errorf("what the node knows cost %d calls", n)
		}
		gm.balance()
	})
}

func TestAPlayerWinsAsOftenAsAllowed(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
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

		got, err := gm.g.Wins(t.Context(), gm.c, "p")
		if err != nil || fmt.Sprint(got) != fmt.Sprint(won) {
			t.Errorf("wins %v (%v), want %v", got, err, won)
		}
		if got, err := gm.g.Wins(t.Context(), gm.c, "nobody"); err != nil || got != nil {
			t.Errorf("nobody has won %v (%v)", got, err)
		}
		// The limit is over all rains.
		gm.letItRain(nil)
		gm.gate.Update(gm.c)
		gm.want("p", gm.drop(0), Already)
		if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(0)); r.Outcome != Already {
			t.Errorf("in the next rain, on another node: %v", r)
		}
	})
}

func TestTapsAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{wins: 2, taps: 3})
		gm.want("p", gm.drop(0), Won)
		gm.want("p", gm.drop(1), Won)
		if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(1)); r.Outcome != Won {
			t.Errorf("a win asked for again: %v", r)
		}
		// Both wins are had: no further tap is counted.
		if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(2)); r.Outcome != Already {
			t.Errorf("%v, want already", r)
		}

		paced := newGame(t, rdb, setup{taps: 3, rain: func(r *rain.Rain) {
			r.StartsAt, r.Pacing = r.StartsAt+9_000, rain.PacingEven // 1 s of 600: nothing of ten packets is released
		}})
		for i := range 3 {
			paced.want("q", paced.drop(i), Empty)
		}
		// A tap that is repeated elsewhere is not counted again, nor refused.
		if r := tapOn(paced.node().Gate(paced.c), "q", paced.drop(0)); r.Outcome != Empty {
			t.Errorf("the same tap on another node: %v, want empty", r)
		}
		limited := paced.drop(3)
		paced.want("q", limited, Limited)
		counted := countCalls(rdb)
		paced.want("q", limited, Limited)
		paced.want("q", paced.drop(0), Empty)
		if n := counted.of("evalsha"); n != 0 {
			t.Errorf("results that are remembered cost %d calls", n)
		}
		// The allowance is over all rains.
		paced.letItRain(nil)
		paced.gate.Update(paced.c)
		paced.want("q", paced.drop(0), Limited)
	})
}

func TestPacingReleasesTheStockOverTime(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		// Half of the rain's time has passed, in which nobody has tapped: 50 of 100 packets may go, one more each six seconds.
		gm := newGame(t, rdb, setup{packets: 100, rain: func(r *rain.Rain) {
			r.StartsAt, r.Pacing = r.StartsAt+10_000-300_000, rain.PacingEven
		}})
		won := 0
		for p := range 80 {
			switch r := gm.tap("u"+strconv.Itoa(p), gm.drop(p)); r.Outcome {
			case Won:
				won++
			case Empty:
			default:
				t.Fatalf("tap %d: %v", p, r)
			}
		}
		if won < 50 || won > 52 {
			t.Errorf("%d packets went in half of the time, want 50", won)
		}

		// The next rain begins with what is left.
		left := 100 - won
		gm.letItRain(func(r *rain.Rain) { r.StartsAt, r.Pacing = r.StartsAt+10_000-60_000, rain.PacingEven }) // a tenth
		gm.gate.Update(gm.c)
		won = 0
		for p := range 20 {
			if gm.tap("v"+strconv.Itoa(p), gm.drop(p)).Outcome == Won {
				won++
			}
		}
		if want := left / 10; won < want || won > want+1 {
			t.Errorf("%d of %d packets went in a tenth of the next rain", won, left)
		}
		gm.balance()
	})
}

func TestSoldOutCostsRedisNothing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
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

func TestTheScriptRefusesWhatANodeLetsThrough(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		for name, change := range map[string]func(gm *game){
			"paused":          func(gm *game) { gm.c.Status = rain.Paused },
			"stopped":         func(gm *game) { gm.c.Rains[0].StoppedAt = gm.options.Clock() },
			"over":            func(gm *game) { gm.c.Rains[0].StartsAt -= 700_000 },
			"not yet":         func(gm *game) { gm.c.Rains[0].StartsAt = gm.options.Clock() + 10_000 },
			"without a rain":  func(gm *game) { gm.c.Rains = nil },
			"closed for good": func(gm *game) { gm.c.Status = rain.Closed },
		} {
			t.Run(name, func(t *testing.T) {
				gm := newGame(t, rdb, setup{})
				drop := gm.drop(0)
				stale := gm.gate // hears of nothing
				gm.c = gm.c.Clone()
				change(gm)
				gm.apply()
				if r := tapOn(stale, "p", drop); r.Outcome != NotOpen {
					t.Errorf("%v, want not_open", r)
				}
				// It is not remembered: the next version may be another.
				if name != "closed for good" {
					gm.c.Status, gm.c.Rains = rain.Open, []rain.Rain{*stale.view.Load().rain}
					gm.apply()
					if r := tapOn(stale, "p", drop); r.Outcome != Won {
						t.Errorf("opened again: %v, want won", r)
					}
				}
				gm.balance()
			})
		}
	})
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
