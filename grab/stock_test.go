package grab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

func TestOpenStocksAMillionPackets(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 1_000_000, shards: 7, split: rain.DoubleMean})
		for shard := range 7 {
			first, n := rain.ShardRange(gm.c.Packets, 7, shard)
			for _, i := range []int{0, 1, chunkPackets - 1, chunkPackets, n - 1} {
				got, err := rdb.LIndex(t.Context(), gm.g.keys.shard(gm.c.ID, shard).stock, int64(i)).Result()
				if want := fmt.Sprint(int64(gm.amounts[first+i])); err != nil || got != want {
					t.Errorf("packet %d is %q (%v), want %q", first+i, got, err, want)
				}
			}
		}
		gm.balance()
		if l := gm.levels(); l != (Levels{Stock: 1_000_000, AmountLeft: gm.c.Budget}) {
			t.Errorf("levels %+v", l)
		}
		for p := range 50 {
			user := fmt.Sprint("p", p)
			r := gm.want(user, gm.drop(0), Won)
			first, n := rain.ShardRange(gm.c.Packets, 7, rain.HomeShard(user, 7))
			if r.Packet < first || r.Packet >= first+n {
				t.Errorf("%s has won packet %d of another shard than %d…%d", user, r.Packet, first, first+n-1)
			}
		}
		gm.balance()
	})
}

// breaker lets so many calls to Redis through, and fails all others.
type breaker struct{ left atomic.Int64 }

var errBroken = errors.New("broken off")

func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.left.Add(-1) < 0 {
			cmd.SetErr(errBroken)
			return errBroken
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if b.left.Add(-1) < 0 {
			for _, cmd := range cmds {
				cmd.SetErr(errBroken)
			}
			return errBroken
		}
		return next(ctx, cmds)
	}
}

func TestOpenCanBeBrokenOffAnywhere(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := &breaker{}
		b.left.Store(1 << 40)
		rdb.AddHook(b)
		for calls := int64(0); ; calls++ {
			gm := newGame(t, rdb, setup{packets: 200_000, shards: 3, notOpen: true, split: rain.DoubleMean})
			b.left.Store(calls)
			err := gm.g.Open(t.Context(), gm.c, gm.amounts)
			whole := b.left.Load() >= 0
			b.left.Store(1 << 40)
			if whole {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if err == nil {
				t.Fatalf("broken off after %d calls, and no error", calls)
			}
			gm.openOnlyWhenAllIsThere()
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil {
				t.Fatalf("again, after %d calls: %v", calls, err)
			}
			gm.balance()
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			gm.want("p", gm.drop(0), Won)
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil {
				t.Fatalf("of an open campaign: %v", err)
			}
			gm.balance()
		}
	})
}

// openOnlyWhenAllIsThere: where one shard is open, all are complete.
func (gm *game) openOnlyWhenAllIsThere() {
	gm.t.Helper()
	open, complete := 0, 0
	for shard := range gm.c.Shards {
		k := gm.g.keys.shard(gm.c.ID, shard)
		status, err := gm.rdb.HGet(gm.t.Context(), k.state, fieldStatus).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			gm.t.Fatal(err)
		}
		if status == string(rain.Open) {
			open++
		}
		if _, n := rain.ShardRange(gm.c.Packets, gm.c.Shards, shard); int64(n) == gm.rdb.LLen(gm.t.Context(), k.stock).Val() {
			complete++
		}
	}
	if open > 0 && complete < gm.c.Shards {
		gm.t.Errorf("%d shards are open, and only %d complete", open, complete)
	}
}

func TestOpenByManyNodesAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 100_000, shards: 2, notOpen: true})
		var all sync.WaitGroup
		for range 4 {
			node := gm.node()
			all.Go(func() {
				// One may be told that a chunk is not where it should be, because another one was faster; it tries again.
				for {
					err := node.Open(t.Context(), gm.c, gm.amounts)
					if err == nil {
						return
					}
					if !strings.Contains(err.Error(), "MISPLACED") {
						t.Errorf("open: %v", err)
						return
					}
				}
			})
		}
		all.Wait()
		gm.balance()
	})
}

func TestOpenRefusesOtherPackets(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 100, notOpen: true})
	if err := gm.g.Open(t.Context(), gm.c, gm.amounts[1:]); err == nil {
		t.Error("too few amounts were taken")
	}
	// Half of it was loaded by a node that has cut the budget in another way.
	k := gm.g.keys.shard(gm.c.ID, 0)
	if err := gm.g.scripts.open.Run(t.Context(), gm.rdb, k.loading(), "load", 0, 100, 0, 1, 2, 3).Err(); err != nil {
		t.Fatal(err)
	}
	if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err == nil || !strings.Contains(err.Error(), "INCOMPLETE") {
		t.Errorf("a stock with another sum: %v", err)
	}
	if err := gm.g.scripts.open.Run(t.Context(), gm.rdb, k.loading(), "load", 0, 101, 100, 1).Err(); err == nil || !strings.Contains(err.Error(), "MISMATCH") {
		t.Errorf("a shard of another size: %v", err)
	}
	if err := gm.g.scripts.open.Run(t.Context(), gm.rdb, k.loading(), "load", 0, 100, 101, 1).Err(); err == nil || !strings.Contains(err.Error(), "MISPLACED") {
		t.Errorf("a chunk with a gap before it: %v", err)
	}
}

func TestApplyKeepsTheNewestVersion(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{shards: 2})
		older := gm.c.Clone()
		gm.c.Status = rain.Paused
		gm.apply()
		for range 2 {
			if err := gm.g.Apply(t.Context(), older); err != nil {
				t.Fatal(err)
			}
		}
		stale := gm.node().Gate(older)
		if r := tapOn(stale, "p", gm.drop(0)); r.Outcome != NotOpen {
			t.Errorf("an older version has undone a newer one: %v", r)
		}
		if l := gm.levels(); l.Stock != 10 {
			t.Errorf("paused, the levels are %+v", l)
		}
		// A campaign that is not opened yet takes no version.
		loading := newGame(t, rdb, setup{packets: 10, notOpen: true})
		if err := loading.g.Apply(t.Context(), loading.c); !errors.Is(err, ErrNoState) {
			t.Errorf("without a stock: %v", err)
		}
		k := loading.g.keys.shard(loading.c.ID, 0)
		if err := loading.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0, 100).Err(); err != nil {
			t.Fatal(err)
		}
		if err := loading.g.Apply(t.Context(), loading.c); !errors.Is(err, ErrNoState) {
			t.Errorf("half loaded: %v", err)
		}
		if status := rdb.HGet(t.Context(), k.state, fieldStatus).Val(); status != string(rain.Loading) {
			t.Errorf("half loaded and %s", status)
		}
		loading.c.Status = rain.Loading
		if err := loading.g.Apply(t.Context(), loading.c); err != nil {
			t.Errorf("a version that is loading itself: %v", err)
		}
	})
}

func TestClosedIsForGood(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 10, shards: 2, split: rain.DoubleMean})
		gm.want("p", gm.drop(0), Won)
		before := gm.levels()
		stale := gm.gate
		open := gm.c.Clone()
		if err := gm.c.Close(gm.options.Clock()); err != nil {
			t.Fatal(err)
		}
		gm.c.Revision++
		for range 3 {
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
		}
		shards, err := gm.g.Snapshot(t.Context(), gm.c)
		if err != nil {
			t.Fatal(err)
		}
		reclaimed := rain.Reclaim{}
		for _, s := range shards {
			if s.Packets != 0 || s.Left != 0 || s.LastEntry != s.Entries[len(s.Entries)-1].Ref.ID {
				t.Errorf("closed, and %+v", s)
			}
			for _, e := range s.Entries {
				if e.Reclaim != nil {
					reclaimed.Packets += e.Reclaim.Packets
					reclaimed.Amount += e.Reclaim.Amount
				}
			}
		}
		if reclaimed.Packets != 9 || reclaimed.Amount != before.AmountLeft {
			t.Errorf("reclaimed %+v, there were %+v", reclaimed, before)
		}
		gm.balance()

		// Nothing opens it again: not an older version, not a newer one, not loading it.
		open.Revision = gm.c.Revision + 10
		gm.c.Revision += 20
		for _, c := range []*rain.Campaign{open, gm.c} {
			if err := gm.g.Apply(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		if err := gm.g.Open(t.Context(), open, gm.amounts); !errors.Is(err, ErrClosed) {
			t.Errorf("loading a closed campaign: %v", err)
		}
		if r := tapOn(stale, "q", gm.drop2(open)); r.Outcome != NotOpen {
			t.Errorf("a tap on a closed campaign: %v", r)
		}
		gm.balance()
		if l := gm.levels(); l != (Levels{Won: 1, AmountWon: before.AmountWon}) {
			t.Errorf("levels %+v", l)
		}
	})
}

// drop2 is the first drop that is in the air by another version.
func (gm *game) drop2(c *rain.Campaign) string {
	like := *gm
	like.c = c
	return like.drop(0)
}

func TestClosingWhatWasNeverOpenedReclaimsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 10, notOpen: true})
		k := gm.g.keys.shard(gm.c.ID, 0)
		if err := gm.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0, 100, 100).Err(); err != nil {
			t.Fatal(err)
		}
		if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
			t.Fatal(err)
		}
		if n, err := gm.g.Pending(t.Context(), gm.c); err != nil || n != 0 {
			t.Errorf("%d entries (%v), want none", n, err)
		}
		if n := rdb.LLen(t.Context(), k.stock).Val(); n != 0 {
			t.Errorf("%d packets are left", n)
		}
		if err := gm.g.Open(t.Context(), gm.c, gm.amounts); !errors.Is(err, ErrClosed) {
			t.Errorf("open after all: %v", err)
		}
	})
}

// A stock from which packets are missing names each packet.
func TestAStockWithNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient) {
		gm := newGame(t, rdb, setup{packets: 10, shards: 1, split: rain.DoubleMean})
		k := gm.g.keys.shard(gm.c.ID, 0)
		rdb.Del(t.Context(), k.stock)
		numbered := []int{9, 4, 7}
		var left rain.Money
		for _, p := range numbered {
			rdb.RPush(t.Context(), k.stock, fmt.Sprintf("%d:%d", p, gm.amounts[p]))
			left += gm.amounts[p]
		}
		rdb.HSet(t.Context(), k.state, fieldLeft, int64(left))
		for i, p := range numbered {
			r := gm.want(fmt.Sprint("p", i), gm.drop(0), Won)
			if r.Packet != p || r.Amount != gm.amounts[p] {
				t.Errorf("win %d: %+v, want packet %d of %d", i, r, p, gm.amounts[p])
			}
		}
		gm.want("q", gm.drop(0), SoldOut)
		if l := gm.levels(); l.AmountLeft != 0 || l.AmountWon != left {
			t.Errorf("levels %+v", l)
		}
	})
}
