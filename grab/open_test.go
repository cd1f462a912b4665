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
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
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
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			b := &breaker{}
			b.left.Store(1 << 40)
			rdb.AddHook(b)
			for calls := int64(0); ; calls++ {
				gm := newGame(t, rdb, setup{packets: 20_000, shards: 3, notOpen: true, split: rain.DoubleMean})
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
		if _, n := rain.ShardRange(gm.c.Packets, gm.c.Shards, shard); int64(n) == gm.rdb.LLen(gm.t.Context(),
			k.stock).Val() {
			complete++
		}
	}
	if open > 0 && complete < gm.c.Shards {
		gm.t.Errorf("%d shards are open, and only %d complete", open, complete)
	}
}

func TestOpenByManyNodesAtOnce(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 50_000, shards: 2, notOpen: true})
			var all sync.WaitGroup
			for range 4 {
				node := gm.node()
				all.Go(func() {
					// One may be told that a chunk is not where it should be, because another one was faster; it
					// tries again.
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
	if err := gm.g.scripts.open.Run(t.Context(), gm.rdb, k.loading(), "load", 0, 101, 100, 1).Err(); err == nil ||
		!strings.Contains(err.Error(), "MISMATCH") {
		t.Errorf("a shard of another size: %v", err)
	}
	if err := gm.g.scripts.open.Run(t.Context(), gm.rdb, k.loading(), "load", 0, 100, 101, 1).Err(); err == nil ||
		!strings.Contains(err.Error(), "MISPLACED") {
		t.Errorf("a chunk with a gap before it: %v", err)
	}
}
