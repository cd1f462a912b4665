package store_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestForgottenScriptsAreLoadedAgain(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 3, Packets: 90})
		flush := func() {
			t.Helper()
			testenv.Must(t, rdb.ScriptFlush(t.Context()).Err())
		}
		flush()
		for p := range 9 {
			gm.Want("p"+strconv.Itoa(p), gm.Drop(0), outcome.Won)
			flush()
		}
		gm.Balance()

		next := grabtest.New(t, rdb, grabtest.Setup{Packets: 5_000, NotOpen: true})
		flush()
		testenv.WantErr(t, next.G.Open(t.Context(), next.C, next.Options.Clock()+60_000), nil, "open")
		next.Balance()
		testenv.WantErr(t, next.G.Load(t.Context()), nil, "load")
		counted := grabtest.CountCalls(rdb)
		next.LetItRain(nil)
		testenv.Equal(t, counted.Of("eval"), 0, "calls after Load that took the source along")
	})
}

func TestWhileRedisIsAwayNothingIsWon(t *testing.T) {
	server := testenv.StartRedis(t)
	gm := grabtest.New(t, grabtest.Connect(t, server.Addr), grabtest.Setup{Packets: 5})
	// By default Redis may hold a write back for two seconds when the disk is slow, and then kill -9 loses it.
	testenv.Must(t, gm.RDB.ConfigSet(t.Context(), "appendfsync", "always").Err())
	first := gm.Want("p", gm.Drop(0), outcome.Won)
	server.Kill()
	gm.Want("q", gm.Drop(0), outcome.Unavailable)
	gm.Want("q", gm.Drop(0), outcome.Unavailable) // it is not remembered
	testenv.Equal(t, gm.Tap("p", gm.Drop(0)), first, "what the node knows")
	testenv.WantFail(t, gm.RDB.Ping(t.Context()).Err(), "a dead Redis answers")
	server.Start()
	testenv.Eventually(t, 10*time.Second, "taps are decided again",
		func() bool { return gm.Tap("q", gm.Drop(0)).Outcome == outcome.Won })
	testenv.Must(t, gm.RDB.Ping(t.Context()).Err())
	testenv.Equal(t, grabtest.TapOn(gm.Node().Gate(gm.C), "p", gm.Drop(0)), first, "after the restart")
	gm.Balance()

	server.LoseData()
	server.Start()
	testenv.Eventually(t, 10*time.Second, "redis answers", func() bool { return gm.RDB.Ping(t.Context()).Err() == nil })
	gm.Want("r", gm.Drop(0), outcome.Unavailable)
	testenv.WantErr(t, testenv.Err(gm.G.Levels(t.Context(), gm.C)), store.ErrNoState, "levels of a lost campaign")
	testenv.WantErr(t, gm.G.Apply(t.Context(), gm.C), store.ErrNoState, "applying to a lost campaign")
	testenv.WantErr(t, gm.G.CloseCampaign(t.Context(), gm.C), store.ErrNoState, "closing a lost campaign")
	shards, err := gm.G.Snapshot(t.Context(), gm.C)
	if err != nil || shards[0].Found {
		t.Errorf("snapshot of a lost campaign: %+v, %v", shards, err)
	}
	testenv.Got(gm.RDB.DBSize(t.Context()).Result()).Want(t, 0, "keys that all that has left")
}

// Taps behind a batch that Redis does not answer fail with it. They do not wait for a timeout of their own.
func TestAHungRedisKeepsNobodyWaiting(t *testing.T) {
	server := testenv.StartRedis(t)
	const players = 3 * grabtest.MaxBatch
	gm := grabtest.New(t, grabtest.Connect(t, server.Addr), grabtest.Setup{Packets: players})
	drop := gm.Drop(0)
	server.Freeze()
	line, released := grabtest.CountCalls(gm.RDB), make(chan struct{})
	gm.RDB.AddHook(grabtest.Hook{Command: func(next redis.ProcessHook) redis.ProcessHook {
		return func(ctx context.Context, cmd redis.Cmder) error {
			<-released
			return next(ctx, cmd)
		}
	}})
	var all sync.WaitGroup
	var unavailable atomic.Int64
	for p := range players {
		all.Add(1)
		grabtest.Ask(gm.Gate, "p"+strconv.Itoa(p), drop, func(r outcome.Result) {
			defer all.Done()
			if r.Outcome == outcome.Unavailable {
				unavailable.Add(1)
			}
		})
	}
	close(released)
	all.Wait()
	testenv.Equal(t, line.Of("evalsha"), 1, "calls that were waited for, one after the other")
	testenv.Equal(t, unavailable.Load(), players, "taps with the result unavailable")
	server.Thaw()
	// Redis may have decided some of them after all; asked again each has one win.
	testenv.Eventually(t, 10*time.Second, "taps are decided again",
		func() bool { return gm.Tap("p0", drop).Outcome == outcome.Won })
	// All at once, while the drop is in the air: one after the other they would take as long as it.
	var lost atomic.Int64
	for p := range players {
		all.Add(1)
		grabtest.Ask(gm.Gate, "p"+strconv.Itoa(p), drop, func(r outcome.Result) {
			defer all.Done()
			if r.Outcome != outcome.Won {
				lost.Add(1)
			}
		})
	}
	all.Wait()
	if lost.Load() > 0 {
		t.Errorf("%d of %d players have no win", lost.Load(), players)
	}
	testenv.Equal(t, len(gm.Wins()), players, "wins, of as many players")
	gm.Balance()
}

// A full Redis refuses a batch as a whole.
func TestAFullRedisLosesNothingHalfWay(t *testing.T) {
	server := testenv.StartRedis(t)
	rdb := grabtest.Connect(t, server.Addr)
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Wins: 2, Taps: 5, Shards: 1})
	paced := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Rain: func(r *rain.Rain) {
		r.Pacing, r.StartsAt = rain.PacingEven,
			r.StartsAt-300_000
	}})
	first := gm.Want("p", gm.Drop(0), outcome.Won)
	set := func(name, value string) {
		t.Helper()
		testenv.Must(t, rdb.ConfigSet(t.Context(), name, value).Err())
	}
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "1")
	gm.Want("q", gm.Drop(0), outcome.Unavailable)
	gm.Want("p", gm.Drop(1), outcome.Unavailable)
	paced.Want("p", paced.Drop(0), outcome.Unavailable)
	testenv.Equal(t, grabtest.TapOn(gm.Node().Gate(gm.C), "p", gm.Drop(0)), first,
		"a win asked for again, which writes nothing")
	testenv.WantFail(t, gm.G.CloseCampaign(t.Context(), gm.C), "a full Redis has taken a reclaim")
	testenv.Equal(t, len(gm.Wins()), 1, "wins while Redis was full")
	gm.Balance()
	paced.Balance()

	unopened := unstocked(t, gm)
	testenv.WantFail(t, unopened.G.Open(t.Context(), unopened.C, gm.Options.Clock()+60_000),
		"a full Redis has taken a stock")
	set("maxmemory", "0")
	testenv.Must(t, unopened.G.Open(t.Context(), unopened.C, gm.Options.Clock()+60_000))
	unopened.Balance()
	gm.Want("q", gm.Drop(0), outcome.Won)
	gm.Want("p", gm.Drop(1), outcome.Won)
	paced.Want("p", paced.Drop(0), outcome.Won)
	testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	gm.Balance()
	paced.Balance()
}

// unstocked is a game like another one, not opened: it asks nothing of Redis.
func unstocked(t *testing.T, like *grabtest.Game) *grabtest.Game {
	t.Helper()
	gm := *like
	gm.C = like.C.Clone()
	gm.C.ID, gm.C.Rains, gm.C.Revision = testenv.Namespace(t), nil, 1
	gm.G = gm.Node()
	return &gm
}

// go-redis sends a command again when the connection is lost. The cutter lets the first try through to Redis and
// loses its answer.
func TestALostAnswerIsGivenAgain(t *testing.T) {
	cut := grabtest.NewCutter(t, testenv.Redis(t))
	gm := grabtest.New(t, grabtest.Connect(t, cut.Addr()), grabtest.Setup{Packets: 100, Wins: 3, Taps: 3})
	counted := grabtest.CountCalls(gm.RDB)
	cut.LoseAnswer()
	r := gm.Want("p", gm.Drop(0), outcome.Won)
	testenv.Equal(t, cut.Lost(), 1, "lost answers")
	testenv.Equal(t, counted.Of("evalsha"), 1, "calls; go-redis alone was to repeat it")
	if wins := gm.Wins(); len(wins) != 1 || wins[r.Packet].User != "p" {
		t.Errorf("wins %v, want the one packet %d", wins, r.Packet)
	}
	// No tap was counted twice either: two more may win.
	gm.Want("p", gm.Drop(1), outcome.Won)
	gm.Want("p", gm.Drop(2), outcome.Won)
	gm.Balance()

	paced := grabtest.New(t, gm.RDB, grabtest.Setup{Taps: 2, Rain: func(r *rain.Rain) {
		r.StartsAt, r.Pacing = r.StartsAt+9_000, rain.PacingEven
	}})
	cut.LoseAnswer()
	paced.Want("p", paced.Drop(0), outcome.Empty)
	paced.Want("p", paced.Drop(1), outcome.Empty)
	paced.Want("p", paced.Drop(2), outcome.Limited)

	cut.LoseAnswer()
	lent, err := gm.G.Lend(t.Context(), gm.C.ID, 0, 1, "m", 5)
	if err != nil || lent.Numbers.Count() != 5 || lent.Number != 1 {
		t.Errorf("lent %+v (%v)", lent, err)
	}
	cut.LoseAnswer()
	back := rain.Lent{Move: "m", To: 0, Numbers: lent.Numbers}
	testenv.Got(gm.G.Borrow(t.Context(), gm.C.ID, back)).Want(t, 2, "the number of the move")
	cut.LoseAnswer()
	testenv.Must(t, gm.G.Moves.Done(t.Context(), gm.C.ID, 0, "m"))
	gm.Balance()
	cut.LoseAnswer()
	gm.Apply()
	cut.LoseAnswer()
	testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	gm.Balance()
}

// A single server's failover by name: the old master goes on as a replica, and the name leads to the new one. The
// connections to the old one are replaced, since it refuses to write.
func TestADemotedMasterIsLeft(t *testing.T) {
	old := testenv.StartRedis(t)
	young := testenv.StartReplica(t, old)
	name := testenv.NewProxy(t, old.Addr)
	gm := grabtest.New(t, grabtest.Connect(t, name.Addr), grabtest.Setup{Packets: 100, Shards: 4})
	var all sync.WaitGroup
	for p := range 20 { // at once, so that there are many connections
		all.Go(func() { gm.Tap("p"+strconv.Itoa(p), gm.Drop(0)) })
	}
	all.Wait()
	wins := len(gm.Wins())
	testenv.Must(t, gm.RDB.Set(t.Context(), "last", "written", 0).Err())
	heir, former := grabtest.Connect(t, young.Addr), grabtest.Connect(t, old.Addr)
	testenv.Eventually(t, 10*time.Second, "the replica has everything",
		func() bool { return heir.Get(t.Context(), "last").Val() == "written" })

	testenv.Must(t, heir.ReplicaOf(t.Context(), "no", "one").Err())
	host, port, _ := strings.Cut(young.Addr, ":")
	testenv.Must(t, former.ReplicaOf(t.Context(), host, port).Err())
	name.To(young.Addr)
	for p := range 20 {
		user := "q" + strconv.Itoa(p)
		testenv.Eventually(t, 5*time.Second, "the new master decides",
			func() bool { return gm.Tap(user, gm.Drop(0)).Outcome == outcome.Won })
	}
	testenv.Equal(t, len(gm.Wins()), wins+20, "wins")
	gm.Balance()
}
