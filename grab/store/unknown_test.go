package store_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// If a master of a Cluster hangs and none takes over, its shards are unknown and the others' figures are right. Wins on
// an unknown shard are not counted as won, and its stock is not counted as gone.
func TestShardsOfAMasterThatHangsAreUnknown(t *testing.T) {
	const shards, packets = 12, 120
	nodes := testenv.StartRedisCluster(t)
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr
		client := redis.NewClient(&redis.Options{Addr: n.Addr})
		testenv.Must(t, client.ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err())
		_ = client.Close()
	}
	rdb, ok := grabtest.Connect(t, strings.Join(addrs, ",")).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: packets, Shards: shards})
	drop := gm.Drop(0)
	won := make([]int, shards)
	for i := range 30 {
		user := "p" + strconv.Itoa(i)
		gm.Want(user, drop, outcome.Won)
		won[rain.HomeShard(user, shards)]++
	}
	unknown := map[int]bool{}
	for shard := range shards {
		if grabtest.MasterOf(t, rdb, gm.G.Keys(gm.C.ID, shard).State) == nodes[0].Addr {
			unknown[shard] = true
		}
	}
	all := gm.Levels()
	want := store.Levels{Stock: all.Stock, Won: all.Won, Unknown: len(unknown)}
	for shard := range unknown {
		want.Stock += won[shard]
		want.Won -= won[shard]
	}
	want.ByLane, want.WonByLane = one(want.Stock), one(want.Won)
	want.AmountLeft, want.AmountWon = rain.Money(100*want.Stock), rain.Money(100*want.Won)

	nodes[3].Kill()
	nodes[0].Freeze()
	within := func(read func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		read(ctx)
	}
	var got store.Levels
	var err error
	testenv.Eventually(t, time.Minute, "the others are read", func() bool {
		within(func(ctx context.Context) { got, err = gm.G.Levels(ctx, gm.C) })
		return err == nil && got.Unknown == len(unknown)
	})
	testenv.Equal(t, got, want, "levels")
	var levels []store.Level
	testenv.Eventually(t, time.Minute, "each of the others is read", func() bool {
		within(func(ctx context.Context) { levels, err = gm.G.Shards(ctx, gm.C) })
		failed := 0
		for _, l := range levels {
			if l.Err != nil {
				failed++
			}
		}
		return err == nil && failed == len(unknown)
	})
	for shard, l := range levels {
		if unknown[shard] != (l.Err != nil) || unknown[shard] == l.Known || l.Known && l.Won != won[shard] {
			t.Errorf("shard %d: %+v, of %d wins", shard, l, won[shard])
		}
	}
	for _, n := range nodes[1:3] {
		n.Freeze()
	}
	within(func(ctx context.Context) {
		testenv.WantFail(t, testenv.Err(gm.G.Levels(ctx, gm.C)), "of no shard at all")
	})
	within(func(ctx context.Context) {
		testenv.WantFail(t, testenv.Err(gm.G.Shards(ctx, gm.C)), "of no shard at all")
	})
}

// A shard that Redis has lost is unknown as well, as long as there is another one.
func TestALostShardIsUnknown(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 30, Shards: 3})
	want := store.Levels{Stock: 30, ByLane: one(30), AmountLeft: 3000}
	gm.WantLevels(want)
	testenv.Must(t, testenv.Err(gm.G.Lend(t.Context(), gm.C.ID, 1, 0, "m", 4)))
	gm.WantLevels(want) // lent stock counts
	gm.LoseShard(1)
	want.Unknown = 1
	gm.WantLevels(want)
	levels, err := gm.G.Shards(t.Context(), gm.C)
	if err != nil || len(levels) != 3 || levels[1].Known || levels[1].Err != nil || !levels[2].Known {
		t.Errorf("%+v, %v", levels, err)
	}
}

// halfMoved is a Redis in which the slot of shard 1 hangs in a move. It has no state of the other shards.
func halfMoved(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		for _, arg := range cmd.Args() {
			if key, ok := arg.(string); ok && strings.Contains(key, "{c.1}") {
				cmd.SetErr(refusal("TRYAGAIN Multiple keys request during rehashing of slot"))
				return cmd.Err()
			}
		}
		if script, ok := cmd.(*redis.Cmd); ok {
			script.SetVal([]any{[]any{}, []any{}, []any{}, ""})
		}
		return nil
	}
}

// TestAStuckSlotHidesItsShardOnly: a slot that an operator has left half moved is given up after a while, and named.
func TestAStuckSlotHidesItsShardOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: ":1"})
		defer func() { _ = rdb.Close() }()
		rdb.AddHook(grabtest.Hook{Command: halfMoved})
		sums := store.NewSums(store.New(rdb, store.Options{}))
		got, err := sums.Snapshot(t.Context(), &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 9, Shards: 3}})
		if err != nil || len(got) != 3 || got[0].Unread != "" || got[2].Unread != "" || got[1].Found ||
			!strings.Contains(got[1].Unread, "TRYAGAIN") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
