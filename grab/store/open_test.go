package store_test

import (
	"context"
	"errors"
	"fmt"
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

func TestOpenGivesEveryShardItsPart(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		const packets, shards = 1_000_003, 7
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: packets, Shards: shards, Split: rain.DoubleMean})
		for shard := range shards {
			first, n := rain.ShardRange(packets, shards, shard)
			got, err := rdb.LRange(t.Context(), gm.G.Keys(gm.C.ID, shard).Stock, 0, -1).Result()
			if want := fmt.Sprintf("[%d-%d .]", first, first+n-1); err != nil || fmt.Sprint(got) != want {
				t.Errorf("shard %d has %v (%v), want %v", shard, got, err, want)
			}
		}
		gm.Balance()
		gm.WantLevels(store.Levels{Stock: packets, ByLane: one(packets), AmountLeft: gm.C.Budget})
		won := rain.Money(0)
		for p := range 50 {
			user := fmt.Sprint("p", p)
			r := gm.Want(user, gm.Drop(0), outcome.Won)
			won += r.Amount
			first, n := rain.ShardRange(packets, shards, rain.HomeShard(user, shards))
			if r.Packet < first || r.Packet >= first+n {
				t.Errorf("%s has won packet %d of another shard than %d…%d", user, r.Packet, first, first+n-1)
			}
		}
		gm.Balance()
		want := store.Levels{Stock: packets - 50, ByLane: one(packets - 50), Won: 50, WonByLane: one(50),
			AmountLeft: gm.C.Budget - won, AmountWon: won}
		gm.WantLevels(want)
	})
}

// TestAShardBeginsWithItsSettings: a shard that was opened or restored has each setting of a campaign without a rain.
func TestAShardBeginsWithItsSettings(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
		check := func(when string) {
			t.Helper()
			snap, err := gm.G.Snapshot(t.Context(), gm.C)
			if err != nil || len(snap) != 1 || !snap[0].Found || len(snap[0].Altered) > 0 {
				t.Errorf("%s: %+v, %v", when, snap, err)
			}
		}
		check("opened")
		gm.Lose()
		testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, nil)))
		gm.C.Revision = 0 // as restore.lua writes it
		check("restored")
	})
}

// breaker lets so many calls to Redis through, and fails all others; or the next one only.
type breaker struct {
	left atomic.Int64
	one  bool
}

var errBroken = errors.New("broken off")

func (b *breaker) fails() bool {
	left := b.left.Add(-1)
	return left == -1 || left < 0 && !b.one
}

// connecting reports whether a command belongs to a new connection. No caller has sent it.
func connecting(cmd redis.Cmder) bool { return cmd.Name() == "hello" || cmd.Name() == "client" }

func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !connecting(cmd) && b.fails() {
			cmd.SetErr(errBroken)
			return errBroken
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !connecting(cmds[0]) && b.fails() {
			for _, cmd := range cmds {
				cmd.SetErr(errBroken)
			}
			return errBroken
		}
		return next(ctx, cmds)
	}
}

// soon is a time until which everything reaches Redis.
func soon(gm *grabtest.Game) int64 { return gm.Options.Clock() + 60_000 }

func TestOpenCanBeBrokenOffAnywhere(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		b := &breaker{}
		b.left.Store(1 << 40)
		rdb.AddHook(b)
		for calls := int64(0); ; calls++ {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20_000, Shards: 3, NotOpen: true})
			b.left.Store(calls)
			err := gm.G.Open(t.Context(), gm.C, soon(gm))
			whole := b.left.Load() >= 0
			b.left.Store(1 << 40)
			if whole {
				testenv.Must(t, err)
				break
			}
			if err == nil {
				t.Fatalf("broken off after %d calls, and no error", calls)
			}
			if err := gm.G.Open(t.Context(), gm.C, soon(gm)); err != nil {
				t.Fatalf("again, after %d calls: %v", calls, err)
			}
			gm.Balance()
			gm.LetItRain(nil)
			gm.Gate = gm.G.Gate(gm.C)
			gm.Want("p", gm.Drop(0), outcome.Won)
			testenv.Must(t, gm.G.Open(t.Context(), gm.C, soon(gm)))
			gm.Balance()
		}
	})
}

func TestOpenByManyNodesAtOnce(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 50_000, Shards: 8, NotOpen: true})
		var all sync.WaitGroup
		for range 4 {
			node := gm.Node()
			all.Go(func() {
				testenv.WantErr(t, node.Open(t.Context(), gm.C, soon(gm)), nil, "open")
			})
		}
		all.Wait()
		gm.Balance()
	})
}

// A call was in flight for too long. Since then the shard was played and lost, so the call finds no keys of it. It must
// not stock the shard again.
func TestAStockingThatComesLateIsRefused(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
		testenv.WantErr(t, gm.G.Open(t.Context(), gm.C, gm.Options.Clock()-10_000), nil, "of what is open")
		gm.Lose()
		testenv.WantErr(t, gm.G.Open(t.Context(), gm.C, gm.Options.Clock()-10_000), store.ErrLate, "of what was lost")
		testenv.Equal(t, rdb.Exists(t.Context(), gm.G.Keys(gm.C.ID, 0).Opening()...).Val(), 0, "keys that it has made")
	})
}

// one is the stock by lane of a campaign that has one.
func one(stock int) [rain.LaneCount]int { return [rain.LaneCount]int{rain.LanePlayers: stock} }

// TestLanesInRedis: guests win the guests' packets and players theirs, on a shard each. One lane is sold out while the
// other has stock, and the figures separate them. A lost shard counts as left in its own lane.
func TestLanesInRedis(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 10, Shards: 2, GuestsShare: 300_000})
		playBothLanes(t, gm)
	})
}

func playBothLanes(t *testing.T, gm *grabtest.Game) {
	t.Helper()
	layout := gm.C.Layout()
	for i := range 6 {
		guest, want := fmt.Sprintf("%s%020x", rain.GuestPrefix, i), outcome.Won
		if i >= 3 {
			want = outcome.SoldOut
		}
		if r := gm.Want(guest, gm.Drop(0), want); want == outcome.Won && !layout.MayHave(guest, r.Packet) {
			t.Errorf("%s has won packet %d", guest, r.Packet)
		}
	}
	if got := gm.Levels(); got.Stock != 7 || got.ByLane != one(7) {
		t.Errorf("the guests have won all of theirs: %+v", got)
	}
	if r := gm.Want("p", gm.Drop(0), outcome.Won); !layout.MayHave("p", r.Packet) {
		t.Errorf("a player has won packet %d", r.Packet)
	}
	gm.Balance()
	gm.LoseShard(layout.Home("p"))
	if got := gm.Levels(); got.ByLane != one(7) || got.Unknown != 1 {
		t.Errorf("the players' shard is lost: %+v", got)
	}
}

// TestOpeningCostsNothingForAPacket: the largest campaign there may be takes as little of Redis and is open as soon
// as a small one.
func TestOpeningCostsNothingForAPacket(t *testing.T) {
	rdb := grabtest.Connect(t, testenv.Redis(t))
	const shards, atMost = 8, 4 << 10 // bytes for each shard
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: rain.MaxPackets, Budget: rain.MaxBudget, Shards: shards,
		Split: rain.DoubleMean, NotOpen: true})
	began := time.Now()
	testenv.Must(t, gm.G.Open(t.Context(), gm.C, gm.Options.Clock()+60_000))
	took := time.Since(began)
	gm.Balance()
	each := memoryOf(gm) / shards
	t.Logf("%d bytes a shard, open in %s", each, took)
	if each > atMost || each < 100 {
		t.Errorf("a shard takes %d bytes of Redis, want 100 to %d", each, atMost)
	}
}

// memoryOf is the memory in bytes that all keys of the campaign use in Redis.
func memoryOf(gm *grabtest.Game) (all int64) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		for _, key := range gm.G.Keys(gm.C.ID, shard).Opening() {
			n, err := gm.RDB.MemoryUsage(gm.T.Context(), key, 0).Result() // 0: every element, not a sample
			testenv.Must(gm.T, err)
			all += n
		}
	}
	return all
}

// forget gives the memory back to the Redis that the tests share.
func forget(gm *grabtest.Game) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		testenv.Must(gm.T, gm.RDB.Unlink(gm.T.Context(), gm.G.Keys(gm.C.ID, shard).Opening()...).Err())
	}
}
