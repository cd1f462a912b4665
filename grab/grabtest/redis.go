package grabtest

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/testenv"
)

// Backends are the three kinds of Redis, each with a client. In a short test it is only the in-process one.
func Backends(t *testing.T) iter.Seq2[string, redis.UniversalClient] {
	t.Helper()
	return func(yield func(string, redis.UniversalClient) bool) {
		_ = yield("in-process", InProcess(t)) && !testing.Short() &&
			yield("redis", Connect(t, testenv.Redis(t))) &&
			yield("cluster", Connect(t, strings.Join(testenv.RedisCluster(t), ",")))
	}
}

// Client is a client of Redis.
type Client = redis.UniversalClient

// EachBackend runs a test on each of the back ends.
func EachBackend(t *testing.T, test func(t *testing.T, rdb Client)) {
	t.Helper()
	for name, rdb := range Backends(t) {
		t.Run(name, func(t *testing.T) { test(t, rdb) })
	}
}

// InProcess returns a client of an in-process Redis.
func InProcess(t testing.TB) redis.UniversalClient {
	t.Helper()
	server := testenv.Got(embedded.Redis()).Must(t)
	t.Cleanup(server.Close)
	return Connect(t, server.Addr())
}

// Connect is a client, which is closed with the test.
func Connect(t testing.TB, addrs string) redis.UniversalClient {
	t.Helper()
	rdb := testenv.Got(store.Connect(t.Context(), addrs)).Must(t)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Hook stands before a client's commands. Commands that it does not handle go on unchanged.
type Hook struct {
	Command  func(next redis.ProcessHook) redis.ProcessHook
	Pipeline func(next redis.ProcessPipelineHook) redis.ProcessPipelineHook
}

// DialHook implements redis.Hook.
func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	if h.Command == nil {
		return next
	}
	return h.Command(next)
}

// ProcessPipelineHook implements redis.Hook.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	if h.Pipeline == nil {
		return next
	}
	return h.Pipeline(next)
}

// Calls counts the calls of a script over a client.
type Calls struct {
	mu     sync.Mutex
	counts map[string]int
}

// CountCalls counts from now on; commands in pipelines are not counted.
func CountCalls(rdb redis.UniversalClient) *Calls {
	c := &Calls{counts: map[string]int{}}
	rdb.AddHook(Hook{Command: func(next redis.ProcessHook) redis.ProcessHook {
		return func(ctx context.Context, cmd redis.Cmder) error {
			c.mu.Lock()
			c.counts[cmd.Name()]++
			c.mu.Unlock()
			return next(ctx, cmd)
		}
	}})
	return c
}

// Of is the number of calls of a command.
func (c *Calls) Of(command string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[command]
}

// MasterOf is the address of the master that has a key.
func MasterOf(t *testing.T, cluster *redis.ClusterClient, key string) string {
	t.Helper()
	node := testenv.Got(cluster.MasterForKey(t.Context(), key)).Must(t)
	return node.Options().Addr
}
