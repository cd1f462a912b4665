package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// A probe leaves nothing behind.
func TestAProbeLeavesNothing(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		namespace := testenv.Namespace(t)
		s := store.New(rdb, store.Options{Namespace: namespace})
		for range 2 {
			testenv.Must(t, s.Probe(t.Context()))
		}
		testenv.Must(t, s.EachMaster(t.Context(), func(ctx context.Context, _ string, master redis.Cmdable) {
			testenv.Got(master.Keys(ctx, namespace+":*").Result()).Len(t, 0, "keys")
		}))
	})
}

// A probe fails where a win would: on a replica, without space, and for a user without the right to the keys.
func TestAProbeFailsWhereAWinWould(t *testing.T) {
	t.Parallel()
	server := testenv.StartRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	s := store.New(rdb, store.Options{})
	do := func(command string) {
		t.Helper()
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		testenv.Must(t, rdb.Do(t.Context(), args...).Err())
	}
	for _, c := range []struct{ name, spoil, mend, want string }{
		{"a replica", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY"},
		{"full", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM"},
		{"the keys of another installation", "ACL SETUSER default resetkeys ~other:*", "ACL SETUSER default allkeys",
			"NOPERM"},
		{"no streams", "ACL SETUSER default -@stream", "ACL SETUSER default +@stream", "can't run this command"},
	} {
		do(c.spoil)
		err := s.Probe(t.Context())
		do(c.mend)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		testenv.WantErr(t, s.Probe(t.Context()), nil, c.name, "no more")
	}
}

// If one master of a Cluster is away, the others take writes.
func TestAProbeTellsThatAPartIsAway(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartRedisCluster(t)
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr)
	}
	rdb := testenv.Got(store.Connect(t.Context(), strings.Join(addrs, ","))).Must(t)
	t.Cleanup(func() { _ = rdb.Close() })
	s := store.New(rdb, store.Options{})
	testenv.Must(t, s.Probe(t.Context()))
	nodes[0].Freeze()
	testenv.Eventually(t, 20*time.Second, "a part is away, or its replica has taken over", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return errors.Is(s.Probe(ctx), store.ErrSomeMasters)
	})
	nodes[0].Thaw()
	testenv.Eventually(t, 20*time.Second, "all masters take writes", func() bool { return s.Probe(t.Context()) == nil })
}
