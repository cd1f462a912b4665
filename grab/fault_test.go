package grab

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestForgottenScriptsAreLoadedAgain(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{shards: 3, packets: 90})
			flush := func() {
				t.Helper()
				if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			flush()
			for p := range 9 {
				gm.want("p"+strconv.Itoa(p), gm.drop(0), Won)
				flush()
			}
			gm.balance()

			next := newGame(t, rdb, setup{packets: 5_000, notOpen: true})
			flush()
			if err := next.g.Open(t.Context(), next.c, next.amounts); err != nil {
				t.Errorf("open: %v", err)
			}
			next.balance()
			if err := next.g.Load(t.Context()); err != nil {
				t.Errorf("load: %v", err)
			}
			counted := countCalls(rdb)
			next.letItRain(nil)
			if n := counted.of("eval"); n != 0 {
				t.Errorf("after Load %d calls took the source along", n)
			}
		})
	}
}

func TestWhileRedisIsAwayNothingIsWon(t *testing.T) {
	server := testenv.StartRedis(t)
	gm := newGame(t, connect(t, server.Addr), setup{packets: 5})
	// By default Redis may hold a write back for two seconds when the disk is slow, and then kill -9 loses it.
	if err := gm.rdb.ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
		t.Fatal(err)
	}
	first := gm.want("p", gm.drop(0), Won)
	server.Kill()
	gm.want("q", gm.drop(0), Unavailable)
	gm.want("q", gm.drop(0), Unavailable) // it is not remembered
	if r := gm.tap("p", gm.drop(0)); r != first {
		t.Errorf("what the node knows: %v, want %v", r, first)
	}
	if err := gm.g.Ping(t.Context()); err == nil {
		t.Error("a dead Redis answers")
	}
	server.Start()
	testenv.Eventually(t, 10*time.Second, "taps are decided again",
		func() bool { return gm.tap("q", gm.drop(0)).Outcome == Won })
	if err := gm.g.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(0)); r != first {
		t.Errorf("after the restart: %v, want %v", r, first)
	}
	gm.balance()

	server.LoseData()
	server.Start()
	testenv.Eventually(t, 10*time.Second, "redis answers", func() bool { return gm.g.Ping(t.Context()) == nil })
	gm.want("r", gm.drop(0), Unavailable)
	if _, err := gm.g.Levels(t.Context(), gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("levels of a lost campaign: %v", err)
	}
	if err := gm.g.Apply(t.Context(), gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("applying to a lost campaign: %v", err)
	}
	if err := gm.g.CloseCampaign(t.Context(), gm.c); !errors.Is(err, ErrNoState) {
		t.Errorf("closing a lost campaign: %v", err)
	}
	shards, err := gm.g.Snapshot(t.Context(), gm.c)
	if err != nil || shards[0].Found {
		t.Errorf("snapshot of a lost campaign: %+v, %v", shards, err)
	}
	if n, err := gm.rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("all that has left %d keys (%v)", n, err)
	}
}

// holder keeps every call back until it is released.
type holder struct {
	*calls
	released chan struct{}
}

func (h *holder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-h.released
		return next(ctx, cmd)
	}
}

// Who waits behind a batch that Redis does not answer is told with it, and not after a time-out of its own.
func TestAHungRedisKeepsNobodyWaiting(t *testing.T) {
	server := testenv.StartRedis(t)
	const players = 3 * maxBatch
	gm := newGame(t, connect(t, server.Addr), setup{packets: players})
	drop := gm.drop(0)
	server.Freeze()
	line := &holder{calls: countCalls(gm.rdb), released: make(chan struct{})}
	gm.rdb.AddHook(line)
	var all sync.WaitGroup
	var unavailable atomic.Int64
	for p := range players {
		all.Add(1)
		ask(gm.gate, "p"+strconv.Itoa(p), drop, func(r Result) {
			defer all.Done()
			if r.Outcome == Unavailable {
				unavailable.Add(1)
			}
		})
	}
	close(line.released)
	all.Wait()
	if n := line.of("evalsha"); n != 1 {
		t.Errorf("%d calls were waited for, one after the other", n)
	}
	if unavailable.Load() != players {
		t.Errorf("%d of %d taps were told unavailable", unavailable.Load(), players)
	}
	server.Thaw()
	// Redis may have decided some of them after all; asked again each has one win.
	testenv.Eventually(t, 10*time.Second, "taps are decided again",
		func() bool { return gm.tap("p0", drop).Outcome == Won })
	for p := range players {
		gm.want("p"+strconv.Itoa(p), drop, Won)
	}
	if n := len(gm.wins()); n != players {
		t.Errorf("%d wins of %d players", n, players)
	}
	gm.balance()
}

// A full Redis refuses a batch as a whole.
func TestAFullRedisLosesNothingHalfWay(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := connect(t, server.Addr)
	gm := newGame(t, rdb, setup{packets: 100, wins: 2, taps: 5, shards: 1})
	paced := newGame(t, rdb, setup{packets: 100, rain: func(r *rain.Rain) {
		r.Pacing, r.StartsAt = rain.PacingEven,
			r.StartsAt-300_000
	}})
	first := gm.want("p", gm.drop(0), Won)
	set := func(name, value string) {
		t.Helper()
		if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "1")
	gm.want("q", gm.drop(0), Unavailable)
	gm.want("p", gm.drop(1), Unavailable)
	paced.want("p", paced.drop(0), Unavailable)
	if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(0)); r != first {
		t.Errorf("a win asked for again, which writes nothing: %v", r)
	}
	if err := gm.g.CloseCampaign(t.Context(), gm.c); err == nil {
		t.Error("a full Redis has taken a reclaim")
	}
	if n := len(gm.wins()); n != 1 {
		t.Errorf("%d wins while Redis was full, want the one before", n)
	}
	gm.balance()
	paced.balance()

	unopened := unstocked(t, gm)
	if err := unopened.g.Open(t.Context(), unopened.c, unopened.amounts); err == nil {
		t.Error("a full Redis has taken a stock")
	}
	set("maxmemory", "0")
	if err := unopened.g.Open(t.Context(), unopened.c, unopened.amounts); err != nil {
		t.Error(err)
	}
	unopened.balance()
	gm.want("q", gm.drop(0), Won)
	gm.want("p", gm.drop(1), Won)
	paced.want("p", paced.drop(0), Won)
	if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
		t.Error(err)
	}
	gm.balance()
	paced.balance()
}

// unstocked is a game like another one, not opened: it asks nothing of Redis.
func unstocked(t *testing.T, like *game) *game {
	t.Helper()
	gm := *like
	gm.c = like.c.Clone()
	gm.c.ID, gm.c.Rains, gm.c.Revision = testenv.Namespace(t), nil, 1
	gm.g = gm.node()
	return &gm
}

// go-redis sends a command again when the connection is lost. The cutter lets the first try through to Redis and
// loses its answer.
func TestALostAnswerIsGivenAgain(t *testing.T) {
	cut := newCutter(t, testenv.Redis(t))
	gm := newGame(t, connect(t, cut.addr()), setup{packets: 100, wins: 3, taps: 3})
	counted := countCalls(gm.rdb)
	cut.loseAnswer()
	r := gm.want("p", gm.drop(0), Won)
	if lost := cut.lost(); lost != 1 {
		t.Fatalf("%d answers were lost, want 1", lost)
	}
	if n := counted.of("evalsha"); n != 1 {
		t.Errorf("%d calls; go-redis alone was to repeat it", n)
	}
	if wins := gm.wins(); len(wins) != 1 || wins[r.Packet].User != "p" {
		t.Errorf("wins %v, want the one packet %d", wins, r.Packet)
	}
	// No tap was counted twice either: two more may win.
	gm.want("p", gm.drop(1), Won)
	gm.want("p", gm.drop(2), Won)
	gm.balance()

	paced := newGame(t, gm.rdb, setup{taps: 2, rain: func(r *rain.Rain) {
		r.StartsAt, r.Pacing = r.StartsAt+9_000, rain.PacingEven
	}})
	cut.loseAnswer()
	paced.want("p", paced.drop(0), Empty)
	paced.want("p", paced.drop(1), Empty)
	paced.want("p", paced.drop(2), Limited)

	cut.loseAnswer()
	if first, err := gm.once("1-0", "1-1"); err != nil || !first[0] || !first[1] {
		t.Errorf("once: %v, %v; want to be first", first, err)
	}
	cut.loseAnswer()
	gm.apply()
	cut.loseAnswer()
	if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
		t.Error(err)
	}
	gm.balance()
}
