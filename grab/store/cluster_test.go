package store_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/testenv"
)

// mapOf is a client of a Cluster whose map has one master. The map is made new as often as the client asks for it.
func mapOf(t *testing.T, master func() string) *redis.ClusterClient {
	t.Helper()
	c := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			addr := master()
			if addr == "" {
				return nil, io.ErrUnexpectedEOF
			}
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
		},
		DialTimeout: time.Second, DialerRetries: 1, MaxRetries: -1,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// inProcess is the address of an in-process Redis.
func inProcess(t *testing.T) string {
	t.Helper()
	server := testenv.Got(embedded.Redis()).Must(t)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.Addr(), "127.0.0.1")
}

// refusal is an answer of Redis itself.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// The Cluster's map is read again only if a node did not answer: it costs a round trip to each node.
func TestWhoDoesNotAnswerMayHaveAnHeir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int64
		s := store.New(mapOf(t, func() string { read.Add(1); return ":1" }), store.Options{})
		for _, c := range []struct {
			err   error
			reads int64
		}{{nil, 0}, {redis.Nil, 0}, {refusal("ERR no"), 0}, {io.EOF, 1}, {context.DeadlineExceeded, 1}} {
			read.Store(0)
			if got := s.Checked(c.err); !errors.Is(got, c.err) {
				t.Errorf("%v became %v", c.err, got)
			}
			synctest.Wait()
			time.Sleep(time.Minute) //nolint:forbidigo // fake time: reading it is over, and may be asked for again
			testenv.Equal(t, read.Load(), c.reads, "after %v the map was read so often", c.err)
		}
	})
}

// A call that must reach the master finds the one that has taken over. It gives up with its context.
func TestTheMasterIsLookedForUntilItIsFound(t *testing.T) {
	const dead = ":1" // of a map that names a loopback address the client takes the port
	heir := inProcess(t)
	var asked atomic.Int64
	rdb := mapOf(t, func() string {
		if asked.Add(1) == 1 {
			return dead
		}
		return heir
	})
	s := store.New(rdb, store.Options{})
	if !s.IsCluster() || store.New(grabtest.InProcess(t), store.Options{}).IsCluster() {
		t.Error("a Cluster is not distinguished from one server")
	}
	var addrs []string
	set := func(addr string, p redis.Pipeliner) error {
		addrs = append(addrs, addr)
		return p.Set(t.Context(), "k", "v", 0).Err()
	}
	if err := s.OnMaster(t.Context(), "k", set); err != nil || len(addrs) < 2 || addrs[0] != dead ||
		addrs[len(addrs)-1] != heir {
		t.Errorf("asked %v: %v", addrs, err)
	}
	if got, err := rdb.Get(t.Context(), "k").Result(); got != "v" {
		t.Errorf("the new master has %q (%v)", got, err)
	}
	var masters []string
	if err := s.EachMaster(t.Context(), func(_ context.Context, addr string, master redis.Cmdable) {
		masters = append(masters, addr+" "+master.Get(t.Context(), "k").Val())
	}); err != nil || len(masters) != 1 || masters[0] != heir+" v" {
		t.Errorf("masters %q (%v)", masters, err)
	}

	testenv.WantFail(t, store.New(mapOf(t, func() string { return "" }), store.Options{}).EachMaster(t.Context(),
		func(context.Context, string, redis.Cmdable) { t.Error("an unknown master") }),
		"masters that are not known were all asked")

	// A full master is a master all the same. A wait for another one would never end.
	tries := 0
	full := func(string, redis.Pipeliner) error { tries++; return refusal("OOM command not allowed") }
	if err := s.OnMaster(t.Context(), "k", full); tries != 1 || err == nil || !strings.HasPrefix(err.Error(), "OOM") {
		t.Errorf("a full master was asked %d times: %v", tries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	away := errors.New("away")
	giveUp := func(string, redis.Pipeliner) error { cancel(); return away }
	testenv.WantErr(t, s.OnMaster(ctx, "k", giveUp), away, "given up with")
}

// If no master is known or answers, there is no time.
func TestTheTimeOfACluster(t *testing.T) {
	for _, c := range []struct {
		master string
		good   bool
		reads  int64 // of the map: the master's replica may have taken over
	}{{inProcess(t), true, 1}, {":1", false, 2}, {"", false, 1}} {
		var read atomic.Int64
		rdb := mapOf(t, func() string { read.Add(1); return c.master })
		if err := store.NewClock(rdb, nil).Sync(t.Context()); (err == nil) != c.good {
			t.Errorf("with the master %q: %v", c.master, err)
		}
		testenv.Eventually(t, 10*time.Second, "the map is read", func() bool { return read.Load() >= c.reads })
		if n := read.Load(); c.good && n != c.reads {
			t.Errorf("with the master %q the map was read %d times", c.master, n)
		}
	}
}
