package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/rain"
)

func TestOpenStocksAMillionPackets(t *testing.T) {
	t.Parallel()
	packets := 1_000_000
	if testing.Short() {
		packets /= 10
	}
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: packets, Shards: 7, Split: rain.DoubleMean})
			for shard := range 7 {
				first, n := rain.ShardRange(gm.C.Packets, 7, shard)
				for _, i := range []int{0, 1, store.ChunkPackets - 1, store.ChunkPackets, n - 1} {
					got, err := rdb.LIndex(t.Context(), gm.G.Keys(gm.C.ID, shard).Stock, int64(i)).Result()
					if want := fmt.Sprint(int64(gm.Amounts[first+i])); err != nil || got != want {
						t.Errorf("packet %d is %q (%v), want %q", first+i, got, err, want)
					}
				}
			}
			gm.Balance()
			if l := gm.Levels(); l != (store.Levels{Stock: packets, AmountLeft: gm.C.Budget}) {
				t.Errorf("levels %+v", l)
			}
			for p := range 50 {
				user := fmt.Sprint("p", p)
				r := gm.Want(user, gm.Drop(0), outcome.Won)
				first, n := rain.ShardRange(gm.C.Packets, 7, rain.HomeShard(user, 7))
				if r.Packet < first || r.Packet >= first+n {
					t.Errorf("%s has won packet %d of another shard than %d…%d", user, r.Packet, first, first+n-1)
				}
			}
			gm.Balance()
		})
	}
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

func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.fails() {
			cmd.SetErr(errBroken)
			return errBroken
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if b.fails() {
			for _, cmd := range cmds {
				cmd.SetErr(errBroken)
			}
			return errBroken
		}
		return next(ctx, cmds)
	}
}

func TestOpenCanBeBrokenOffAnywhere(t *testing.T) {
	t.Parallel()
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			b := &breaker{}
			b.left.Store(1 << 40)
			rdb.AddHook(b)
			for calls := int64(0); ; calls++ {
				gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 20_000, Shards: 3, NotOpen: true,
					Split: rain.DoubleMean})
				b.left.Store(calls)
				err := gm.G.Open(t.Context(), gm.C, gm.Amounts)
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
				openOnlyWhenAllIsThere(gm)
				if err := gm.G.Open(t.Context(), gm.C, gm.Amounts); err != nil {
					t.Fatalf("again, after %d calls: %v", calls, err)
				}
				gm.Balance()
				gm.LetItRain(nil)
				gm.Gate = gm.G.Gate(gm.C)
				gm.Want("p", gm.Drop(0), outcome.Won)
				if err := gm.G.Open(t.Context(), gm.C, gm.Amounts); err != nil {
					t.Fatalf("of an open campaign: %v", err)
				}
				gm.Balance()
			}
		})
	}
}

// openOnlyWhenAllIsThere: where one shard is open, all are complete.
func openOnlyWhenAllIsThere(gm *grabtest.Game) {
	gm.T.Helper()
	open, complete := 0, 0
	for shard := range gm.C.Shards {
		k := gm.G.Keys(gm.C.ID, shard)
		status, err := gm.RDB.HGet(gm.T.Context(), k.State, "status").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			gm.T.Fatal(err)
		}
		if status == string(rain.Open) {
			open++
		}
		if _, n := rain.ShardRange(gm.C.Packets, gm.C.Shards, shard); int64(n) == gm.RDB.LLen(gm.T.Context(),
			k.Stock).Val() {
			complete++
		}
	}
	if open > 0 && complete < gm.C.Shards {
		gm.T.Errorf("%d shards are open, and only %d complete", open, complete)
	}
}

func TestOpenByManyNodesAtOnce(t *testing.T) {
	t.Parallel()
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 50_000, Shards: 2, NotOpen: true})
			var all sync.WaitGroup
			for range 4 {
				node := gm.Node()
				all.Go(func() {
					// One may be told that a chunk is not where it should be, because another one was faster; it
					// tries again.
					for {
						err := node.Open(t.Context(), gm.C, gm.Amounts)
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
			gm.Balance()
		})
	}
}

func TestOpenRefusesOtherPackets(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 100, NotOpen: true})
	if err := gm.G.Open(t.Context(), gm.C, gm.Amounts[1:]); err == nil {
		t.Error("too few amounts were taken")
	}
	// Half of it was loaded by a node that has cut the budget in another way.
	k := gm.G.Keys(gm.C.ID, 0)
	if err := gm.G.LoadPackets(t.Context(), k, 0, 100, 0, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	if err := gm.G.Open(t.Context(), gm.C, gm.Amounts); err == nil || !strings.Contains(err.Error(), "INCOMPLETE") {
		t.Errorf("a stock with another sum: %v", err)
	}
	if err := gm.G.LoadPackets(t.Context(), k, 0, 101, 100, 1); err == nil ||
		!strings.Contains(err.Error(), "MISMATCH") {
		t.Errorf("a shard of another size: %v", err)
	}
	if err := gm.G.LoadPackets(t.Context(), k, 0, 100, 101, 1); err == nil ||
		!strings.Contains(err.Error(), "MISPLACED") {
		t.Errorf("a chunk with a gap before it: %v", err)
	}
}
