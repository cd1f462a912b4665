package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"redrain/internal/loop"
)

// tickEvery is the step in which keys' times to live advance. A tick locks the server and visits every key, so it is
// as long as possible. Keys with a time to live are marks of minutes and token buckets of seconds.
const tickEvery = time.Second

// RedisServer is an in-process Redis. Its TIME is the clock of the machine; a key with a time to live expires up to a
// second late.
type RedisServer struct {
	mini *miniredis.Miniredis
	stop context.CancelFunc
	done sync.WaitGroup
}

// Redis starts an in-process Redis on a free port of the loopback address. Close it after its clients.
func Redis() (*RedisServer, error) {
	tuneLua()
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("in-process redis: %w", err)
	}
	mini.Server().SetPreHook(answerReplication(rand.Text()))
	ctx, stop := context.WithCancel(context.Background())
	r := &RedisServer{mini: mini, stop: stop}
	r.done.Go(func() { tick(ctx, mini.FastForward) })
	return r, nil
}

// answerReplication answers INFO replication as a Redis without replicas does; the library does not support it. The id
// of its history is new at each start.
func answerReplication(history string) server.Hook {
	return func(c *server.Peer, command string, args ...string) bool {
		asked := command == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "replication")
		if asked {
			c.WriteBulk("# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:" + history + "\r\n")
		}
		return asked
	}
}

// Addr returns the listening address, as "host:port".
func (r *RedisServer) Addr() string { return r.mini.Addr() }

// Close ends the server and its data, and waits for its goroutines. Calling it again does nothing.
func (r *RedisServer) Close() {
	r.stop()
	r.done.Wait()
	r.mini.Close()
}

// tick advances times to live by the time that has passed, until ctx ends. The library could do it by itself, but would
// then visit every key on every command.
func tick(ctx context.Context, forward func(time.Duration)) {
	last := time.Now()
	_ = loop.Run(ctx, loop.Spec{Part: "redis", Every: tickEvery, Do: loop.Plain(func(context.Context) {
		now := time.Now() // a busy machine drops ticks, so the time since the last one counts
		forward(now.Sub(last))
		last = now
	})})
}

// tuneLua sizes the Lua states of scripts, which the library allows only per process. Each call allocates a complete
// state, so both numbers are as low as possible.
var tuneLua = sync.OnceFunc(func() {
	// The registry limits how many values unpack can return. Real Redis allows nearly 8,000, and a script that works
	// there must work here.
	lua.RegistrySize = 8192
	// Depth of calls within a script; ours go three deep.
	lua.CallStackSize = 64
})
