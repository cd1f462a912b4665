package grab

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/lua"
	"redrain/rain"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// useEverything does all that this package does with Redis.
func useEverything(t *testing.T, gm *game) {
	t.Helper()
	ctx := t.Context()
	gm.want("p", gm.drop(0), Won)
	gm.want("p", gm.drop(1), Already)
	gm.balance()
	for shard := range gm.c.Shards {
		if _, err := gm.g.Read(ctx, gm.c.ID, shard, "a", 10); err != nil {
			t.Error(err)
		}
		entries, err := gm.g.Claim(ctx, gm.c.ID, shard, "b", 0, 10)
		if err != nil {
			t.Error(err)
		}
		if err := gm.g.Remove(ctx, refs(entries)); err != nil {
			t.Error(err)
		}
		if _, err := gm.g.Once(ctx, []rain.EntryRef{{Campaign: gm.c.ID, Shard: shard, ID: "1-0"}},
			time.Minute); err != nil {
			t.Error(err)
		}
	}
	confirming := New(gm.rdb, Options{Namespace: gm.options.Namespace, Confirm: ConfirmReplica})
	defer confirming.Close()
	// the write for the replicas, whether there are any or not
	if _, err := confirming.ConfirmedWins(ctx, gm.c, "p"); err != nil {
		t.Error(err)
	}
	wins := gm.known(rain.HomeShard("p", gm.c.Shards))
	gm.lose()
	for shard := range gm.c.Shards {
		r := gm.restoration(shard, nil)
		if shard == rain.HomeShard("p", gm.c.Shards) {
			r = gm.restoration(shard, wins)
		}
		if err := gm.g.Restore(ctx, gm.c, shard, r); err != nil {
			t.Error(err)
		}
	}
	if err := gm.g.Report(ctx, gm.c.ID, "{node}", 1, NodeReport{}); err != nil {
		t.Error(err)
	}
	for _, addr := range []string{"127.0.0.1", "::1", "}{", "a b", strings.Repeat("x", 1000), "", "ö"} {
		if _, _, err := gm.g.Allow(ctx, "test", addr, 1, 1); err != nil {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

func TestEveryKeyHasOneHashTag(t *testing.T) {
	rdb := inProcess(t)
	gm := newGame(t, rdb, setup{packets: 100, shards: 5, taps: 5, options: func(o *Options) { o.Namespace = "ns" }})
	useEverything(t, gm)
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) < 20 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	tags := map[string]int{}
	for _, key := range keys {
		if strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 || strings.Contains(key, "{}") {
			t.Errorf("%q has not exactly one hash tag", key)
		}
		if !strings.HasPrefix(key, "ns:{") {
			t.Errorf("%q is outside the namespace", key)
		}
		tags[key[strings.Index(key, "{"):strings.Index(key, "}")+1]]++
	}
	for shard := range 5 {
		if n := tags[fmt.Sprintf("{%s.%d}", gm.c.ID, shard)]; n < 3 {
			t.Errorf("shard %d has %d keys", shard, n)
		}
	}
	if n := len(tags); n != 5+7 { // a bucket for each address
		t.Errorf("%d tags: %v", n, tags)
	}
}

func TestOnAClusterKeysStayOnTheirSlot(t *testing.T) {
	rdb := connect(t, strings.Join(testenv.RedisCluster(t), ","))
	// Sixteen shards lie on all of the masters: a key of another slot would be on another master more often than not.
	useEverything(t, newGame(t, rdb, setup{packets: 1000, shards: 16, taps: 5}))
}

// The Cluster does find a script that uses a key which it was not given: here one that builds its outbox's key.
func TestAClusterRefusesAnUndeclaredKey(t *testing.T) {
	cluster, ok := connect(t, strings.Join(testenv.RedisCluster(t), ",")).(*redis.ClusterClient)
	if !ok {
		t.Fatal("no cluster")
	}
	gm := newGame(t, cluster, setup{})
	k := gm.g.keys.shard(gm.c.ID, 0)
	elsewhere := ""
	for shard := 1; elsewhere == ""; shard++ {
		key := gm.g.keys.shard(gm.c.ID, shard).outbox
		if masterOf(t, cluster, key) != masterOf(t, cluster, k.outbox) {
			elsewhere = key
		}
	}
	broken := redis.NewScript(strings.Replace(lua.Grab, "= KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]",
		"= KEYS[1], KEYS[2], KEYS[3], KEYS[4], '"+elsewhere+"'", 1))
	if err := broken.Run(t.Context(), cluster, k.grabbing(), "p", gm.drop(0)).Err(); err == nil {
		t.Error("a script has used a key that it was not given")
	}
	if err := broken.Run(t.Context(), cluster, []string{k.state, k.stock, k.wins, k.taps, elsewhere}, "p",
		gm.drop(0)).Err(); err == nil {
		t.Error("a script has used keys of two slots")
	}
	gm.balance()
	gm.want("p", gm.drop(0), Won)
}

func masterOf(t *testing.T, cluster *redis.ClusterClient, key string) string {
	t.Helper()
	node, err := cluster.MasterForKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return node.Options().Addr
}
