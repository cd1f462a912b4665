package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func redisClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	// One try: what a killed server refuses must be seen as refused.
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestRedisIsSharedAndKeepsAnAppendOnlyFile(t *testing.T) {
	addr := Redis(t)
	if again := Redis(t); again != addr {
		t.Errorf("a second server at %s, the first is at %s", again, addr)
	}
	aof, err := redisClient(t, addr).ConfigGet(context.Background(), "appendonly").Result()
	if err != nil || aof["appendonly"] != "yes" {
		t.Errorf("appendonly = %v, %v; want yes", aof, err)
	}
}

func TestStartRedisKeepsDataThroughKill(t *testing.T) {
	ctx := context.Background()
	s := StartRedis(t)
	rdb := redisClient(t, s.Addr)
	for i := range 1000 {
		if err := rdb.Set(ctx, fmt.Sprint("k", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	if err := rdb.Ping(ctx).Err(); err == nil {
		t.Error("a killed server answers")
	}
	s.Start()
	if n, err := rdb.DBSize(ctx).Result(); err != nil || n != 1000 {
		t.Errorf("after kill and start: %d keys, %v; want 1000", n, err)
	}
	s.Stop()
	s.Start()
	if n, err := rdb.DBSize(ctx).Result(); err != nil || n != 1000 {
		t.Errorf("after stop and start: %d keys, %v; want 1000", n, err)
	}
	s.LoseData()
	s.Start()
	if n, err := rdb.DBSize(ctx).Result(); err != nil || n != 0 {
		t.Errorf("after the loss of its data: %d keys, %v; want 0", n, err)
	}
}

func TestFreezeLeavesTheClientWaiting(t *testing.T) {
	s := StartRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ReadTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := context.Background()
	if err := rdb.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	var timeout net.Error
	if err := rdb.Ping(ctx).Err(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("ping of a frozen server: %v, want a timeout", err)
	}
	s.Thaw()
	if err := rdb.Ping(ctx).Err(); err != nil {
		t.Errorf("ping after the thaw: %v", err)
	}
}

func TestRedisClusterTakesHashTaggedWritesOnSeveralSlots(t *testing.T) {
	ctx := context.Background()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: RedisCluster(t)})
	t.Cleanup(func() { _ = rdb.Close() })
	ns := Namespace(t)
	used := map[string]bool{}
	for shard := range 32 {
		key := func(name string) string { return fmt.Sprintf("%s:{c.%d}:%s", ns, shard, name) }
		// Both keys in one command: the cluster takes it only on one slot.
		if err := rdb.MSet(ctx, key("state"), "a", key("stock"), "b").Err(); err != nil {
			t.Fatal(err)
		}
		node, err := rdb.MasterForKey(ctx, key("state"))
		if err != nil {
			t.Fatal(err)
		}
		used[node.Options().Addr] = true
	}
	if len(used) != masters {
		t.Errorf("32 tags fell on %d masters, want all %d", len(used), masters)
	}
	if err := rdb.MSet(ctx, ns+":{c.0}:x", 1, ns+":{c.1}:x", 1).Err(); err == nil {
		t.Error("a write across two slots was taken")
	}
}

func TestAReplicaHasWhatItsMasterHas(t *testing.T) {
	ctx := context.Background()
	master := StartRedis(t)
	replica := StartReplica(t, master)
	rdb := redisClient(t, master.Addr)
	if err := rdb.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	// WAIT says how many replicas have it.
	if n, err := rdb.Do(ctx, "WAIT", 1, 0).Int(); err != nil || n != 1 {
		t.Fatalf("%d replicas have it (%v), want 1", n, err)
	}
	if v, err := redisClient(t, replica.Addr).Get(ctx, "k").Result(); err != nil || v != "v" {
		t.Errorf("the replica has %q, %v", v, err)
	}
}

func TestAReplicaTakesOverInAnOwnCluster(t *testing.T) {
	ctx := context.Background()
	nodes := StartRedisCluster(t)
	if len(nodes) != 2*masters {
		t.Fatalf("%d nodes", len(nodes))
	}
	nodes[0].Kill()
	replica := redisClient(t, nodes[masters].Addr)
	Eventually(t, startWithin, "the replica of the first master takes over", func() bool {
		role, err := replica.Do(ctx, "ROLE").Slice()
		return err == nil && role[0] == "master"
	})
}
