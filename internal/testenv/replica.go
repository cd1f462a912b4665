package testenv

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// StartReplica starts a replica, of the test's own, of a redis-server made by [StartRedis], and waits until its master counts on it.
func StartReplica(t testing.TB, of *Server) *Server {
	t.Helper()
	prog := redisServer
	prog.name = "redis-replica"
	prog.command = func(p *process) (*exec.Cmd, error) {
		return redisCommand(p, "--replicaof", loopback+" "+of.p.port.String())
	}
	replica := own(t, prog)
	master := redis.NewClient(&redis.Options{Addr: of.Addr})
	defer func() { _ = master.Close() }()
	online := "port=" + replica.p.port.String() + ",state=online"
	Eventually(t, startWithin, "the master counts on its replica", func() bool {
		info, err := master.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(info, online)
	})
	return replica
}
