package grab

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/internal/embedded"
	"redrain/internal/testenv"
	"redrain/rain"
)

// backends are the three that may stand where Redis does, each with a client.
func backends(t *testing.T) iter.Seq2[string, redis.UniversalClient] {
	t.Helper()
	return func(yield func(string, redis.UniversalClient) bool) {
		_ = yield("in-process", inProcess(t)) &&
			yield("redis", connect(t, testenv.Redis(t))) &&
			yield("cluster", connect(t, strings.Join(testenv.RedisCluster(t), ",")))
	}
}

func inProcess(t testing.TB) redis.UniversalClient {
	t.Helper()
	server, err := embedded.Redis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return connect(t, server.Addr())
}

func connect(t testing.TB, addrs string) redis.UniversalClient {
	t.Helper()
	rdb, err := Connect(addrs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// setup is what a test wants of its game. The zero value is 10 packets of 1.00 each, one win for a player, one
// shard, and a rain that has been falling for ten seconds and goes on for minutes.
type setup struct {
	packets, wins, taps, shards int
	budget                      rain.Money
	split                       rain.SplitKind
	tapRate                     int
	rain                        func(*rain.Rain)
	noRain, notOpen             bool
	options                     func(*Options)
}

// game is a campaign in Redis and a node that takes its taps.
type game struct {
	t       testing.TB
	rdb     redis.UniversalClient
	g       *Grabber
	gate    *Gate
	c       *rain.Campaign
	amounts []rain.Money
	options Options
	gone    int // wins that are in no outbox any more
}

func newGame(t testing.TB, rdb redis.UniversalClient, s setup) *game {
	t.Helper()
	clock := NewClock(rdb, nil)
	if err := clock.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	packets := or(s.packets, 10)
	gm := &game{t: t, rdb: rdb, options: Options{TapRate: s.tapRate, Clock: clock.Now}}
	if s.options != nil {
		s.options(&gm.options)
	}
	gm.c = &rain.Campaign{
		ID: testenv.Namespace(t), Status: rain.Open, Revision: 1, SplitSeed: rain.Seed{1},
		Spec: rain.Spec{
			Name: "Gala", Sponsor: "acme", Budget: or(s.budget, rain.Money(packets)*100), Packets: packets, Min: 1,
			Split:       or(s.split, rain.Even),
			WinsPerUser: or(s.wins, 1), TapsPerUser: s.taps, Shards: or(s.shards, 1), ExpiresInMS: rain.DefaultExpiryMS,
		},
	}
	var err error
	if gm.amounts, err = gm.c.Cut(gm.c.SplitSeed); err != nil {
		t.Fatal(err)
	}
	gm.g = gm.node()
	if s.notOpen {
		return gm
	}
	if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil {
		t.Fatal(err)
	}
	if !s.noRain {
		gm.letItRain(s.rain)
	}
	gm.gate = gm.g.Gate(gm.c)
	return gm
}

// node is another node on the same Redis.
func (gm *game) node() *Grabber {
	g := New(gm.rdb, gm.options)
	gm.t.Cleanup(g.Close)
	return g
}

// letItRain adds a rain, which has been falling for ten seconds unless change says otherwise, and applies it.
func (gm *game) letItRain(change func(*rain.Rain)) {
	gm.t.Helper()
	r := rain.Rain{
		ID: testenv.Namespace(gm.t), Campaign: gm.c.ID, StartsAt: gm.options.Clock() - 10_000, DurationMS: 600_000,
		DropsPerSecond: 40, FallMS: 20_000, Pacing: rain.PacingNone, Seed: rain.Seed{2},
	}
	if last := gm.c.Current(); last != nil {
		r.FirstWave = last.FirstWave + last.Waves()
	}
	if change != nil {
		change(&r)
	}
	gm.c = gm.c.Clone()
	gm.c.Rains = append(gm.c.Rains, r)
	gm.apply()
}

// apply raises the campaign's revision and applies it.
func (gm *game) apply() {
	gm.t.Helper()
	gm.c.Revision++
	if err := gm.g.Apply(gm.t.Context(), gm.c); err != nil {
		gm.t.Fatal(err)
	}
}

// drop is the i-th drop of the rain that is in the air, stays there for a second more, and is a packet.
func (gm *game) drop(i int) string {
	gm.t.Helper()
	r, now := gm.c.Current(), gm.options.Clock()
	landed := max(0, (now-r.StartsAt-r.FallMS-rain.GraceMS)/rain.WaveMS)
	for n := r.FirstWave + landed; n < r.FirstWave+r.Waves(); n++ {
		for _, d := range r.Wave(n).Drops {
			id := rain.DropID{N: n, K: d.K}
			if r.Classify(id, now, false) != rain.InAir || r.Classify(id, now+1_000, false) != rain.InAir {
				continue
			}
			if i == 0 {
				return id.String()
			}
			i--
		}
	}
	gm.t.Fatal("not that many drops in the air")
	return ""
}

// tap taps and waits for the result.
func (gm *game) tap(user, drop string) Result { return tapOn(gm.gate, user, drop) }

// ask taps and hands the result to done, whoever knows it.
func ask(gate *Gate, user, drop string, done func(Result)) {
	id, ok := rain.ParseDrop(drop)
	if !ok {
		done(Result{Outcome: UnknownDrop}) // as the server does
		return
	}
	if r, known := gate.Tap(&Tap{User: user, Drop: id, Asker: &asker{done}}); known {
		done(r)
	}
}

// asker hands each result to a function.
type asker struct{ done func(Result) }

func (a *asker) Answer(taps []*Tap) {
	for _, t := range taps {
		a.done(t.Result())
	}
}

func tapOn(gate *Gate, user, drop string) Result {
	got := make(chan Result, 1)
	ask(gate, user, drop, func(r Result) { got <- r })
	return <-got
}

// want taps and compares the outcome.
func (gm *game) want(user, drop string, outcome Outcome) Result {
	gm.t.Helper()
	r := gm.tap(user, drop)
	if r.Outcome != outcome {
		gm.t.Errorf("%s on %s: %s, want %s", user, drop, r.Outcome, outcome)
	}
	return r
}

// levels reads the levels.
func (gm *game) levels() Levels {
	gm.t.Helper()
	l, err := gm.g.Levels(gm.t.Context(), gm.c)
	if err != nil {
		gm.t.Fatal(err)
	}
	return l
}

// wins is every win that is in the campaign's outboxes, by packet. A packet that is there twice fails the test.
func (gm *game) wins() map[int]rain.Win {
	gm.t.Helper()
	shards, err := gm.g.Snapshot(gm.t.Context(), gm.c)
	if err != nil {
		gm.t.Fatal(err)
	}
	all := map[int]rain.Win{}
	for _, s := range shards {
		for _, e := range s.Entries {
			for _, w := range e.Wins {
				if other, twice := all[w.Packet]; twice {
					gm.t.Errorf("packet %d has been won by %v and by %v", w.Packet, other, w)
				}
				all[w.Packet] = w
			}
		}
	}
	return all
}

// balance checks that each cent of the budget is in the stock, in the outbox or in the levels' sums, and that every
// win has the amount of its packet in the split.
func (gm *game) balance() {
	gm.t.Helper()
	shards, err := gm.g.Snapshot(gm.t.Context(), gm.c)
	if err != nil {
		gm.t.Fatal(err)
	}
	var sum, reclaimed rain.Money
	packets, won := 0, 0
	for _, s := range shards {
		packets += s.Packets + s.Won
		won += s.Won
		sum += s.Left + s.AmountWon
		for _, e := range s.Entries {
			if e.Reclaim != nil {
				packets += e.Reclaim.Packets
				reclaimed += e.Reclaim.Amount
			}
		}
	}
	if packets != gm.c.Packets || sum+reclaimed != gm.c.Budget {
		gm.t.Errorf("%d packets of %d in all, want %d of %d", packets, sum+reclaimed, gm.c.Packets, gm.c.Budget)
	}
	wins := gm.wins()
	if len(wins)+gm.gone != won {
		gm.t.Errorf("%d wins in the outbox and %d before, %d in the state", len(wins), gm.gone, won)
	}
	for packet, w := range wins {
		if w.Amount != gm.amounts[packet] {
			gm.t.Errorf("packet %d: won %d, it holds %d", packet, w.Amount, gm.amounts[packet])
		}
	}
}

// calls counts the calls of a script over a client.
type calls struct {
	mu     sync.Mutex
	counts map[string]int
}

func countCalls(rdb redis.UniversalClient) *calls {
	c := &calls{counts: map[string]int{}}
	rdb.AddHook(c)
	return c
}

func (c *calls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.mu.Lock()
		c.counts[cmd.Name()]++
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *calls) of(command string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[command]
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
