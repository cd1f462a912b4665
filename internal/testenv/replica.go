package testenv

import (
	"context"
	"os/exec"

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
	Eventually(t, startWithin, "the replica follows its master", func() bool {
		ctx := context.Background()
		if err := master.Set(ctx, "testenv", "", 0).Err(); err != nil {
			return false
		}
		// A master calls it online a second before it sends what is written.
		n, err := master.Do(ctx, "WAIT", 1, 100).Int()
		return err == nil && n == 1
	})
	if err := master.Del(context.Background(), "testenv").Err(); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return replica
}
