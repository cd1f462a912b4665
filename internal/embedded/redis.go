package embedded

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// tickEvery is how often times to live move on. A tick looks at every key while no command runs, so it is no more
// often than what is kept with a time to live needs: marks of minutes and token buckets of seconds.
const tickEvery = time.Second

// RedisServer is an in-process stand-in for Redis. Its TIME is the clock of the machine; a key with a time to live
// goes up to a second late.
type RedisServer struct {
	mini *miniredis.Miniredis
	stop context.CancelFunc
	done sync.WaitGroup
}

// Redis starts a stand-in on a free port of the loopback address. Close it when its clients are closed.
func Redis() (*RedisServer, error) {
	tuneLua()
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("in-process redis: %w", err)
	}
	mini.Server().SetPreHook(tellReplication)
	ctx, stop := context.WithCancel(context.Background())
	r := &RedisServer{mini: mini, stop: stop}
	r.done.Go(func() { tick(ctx, mini.FastForward) })
	return r, nil
}

// tellReplication answers INFO replication, which the library does not know, as a Redis without replicas does.
func tellReplication(c *server.Peer, command string, args ...string) bool {
	asked := command == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "replication")
	if asked {
		c.WriteBulk("# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")
	}
	return asked
}

// Addr returns where it listens, as "host:port".
func (r *RedisServer) Addr() string { return r.mini.Addr() }

// Close ends the server and forgets all that it keeps. It returns when everything has ended; calling it again does
// nothing.
func (r *RedisServer) Close() {
	r.stop()
	r.done.Wait()
	r.mini.Close()
}

// tick moves times to live on by the time that has passed, until ctx is done. By themselves they stand still: the
// library's own clock for them looks at every key on every command.
func tick(ctx context.Context, forward func(time.Duration)) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// A busy machine drops ticks: what counts is the time that has passed since the last one.
			now := time.Now()
			forward(now.Sub(last))
			last = now
		}
	}
}

// tuneLua sizes the Lua states of scripts, which the library can only do for the whole process. A call pays for the
// whole state, so neither number is higher than it has to be.
var tuneLua = sync.OnceFunc(func() {
	// What unpack can spread is limited by the registry. Real Redis spreads nearly 8,000 values: a script that works
	// there has to work here.
	lua.RegistrySize = 8192
	// Depth of calls within a script; ours go three deep.
	lua.CallStackSize = 64
})
