package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// StartReplica starts a replica, of the test's own, of a redis-server made by [StartRedis], and waits until it follows.
func StartReplica(t T, of *Server) *Server {
	t.Helper()
	prog := redisServer
	prog.name = "redis-replica"
	prog.command = func(p *process) (*exec.Cmd, error) {
		return redisCommand(p, "--appendonly", "no", "--replicaof", loopback+" "+of.p.port.String())
	}
	replica := own(t, prog)
	// WAIT is about the writes of its own connection
	master := redis.NewClient(&redis.Options{Addr: of.Addr, PoolSize: 1})
	defer func() { _ = master.Close() }()
	ctx := context.Background()
	Eventually(t, startWithin, "the replica follows its master", func() bool {
		if err := master.Set(ctx, "testenv", "", 0).Err(); err != nil {
			return false
		}
		written, err := roleOf(ctx, master, replica.p.port.String())
		if err != nil {
			return false
		}
		// A master reports it online a second before it sends new writes. WAIT requests the offsets of all.
		_ = master.Do(ctx, "WAIT", 100, 100).Err()
		has, err := roleOf(ctx, master, replica.p.port.String())
		return err == nil && has.replica >= written.master
	})
	if err := master.Del(ctx, "testenv").Err(); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return replica
}

// offsets are the written offset of a master, and that of a replica.
type offsets struct{ master, replica int64 }

// roleOf asks a master; a replica that is not online has nothing.
func roleOf(ctx context.Context, master *redis.Client, replicaPort string) (o offsets, err error) {
	answer, err := master.Do(ctx, "ROLE").Slice()
	if err != nil || len(answer) != 3 {
		return o, fmt.Errorf("ROLE: %v, %w", answer, err)
	}
	o.master, _ = answer[1].(int64)
	replicas, _ := answer[2].([]any)
	for _, r := range replicas {
		if f, ok := r.([]any); ok && len(f) == 3 && f[1] == replicaPort {
			text, _ := f[2].(string)
			o.replica, err = strconv.ParseInt(text, 10, 64)
		}
	}
	return o, err
}
