package store

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestConnectUnderstandsAddresses(t *testing.T) {
	for _, c := range [][2]string{
		{"localhost:6379", "localhost:6379"},
		{"[::1]:6379", "[::1]:6379"},
		{"a:1,b:2", "cluster a:1 b:2"},
		{" a:1 , b:2 ", "cluster a:1 b:2"},
		{"redis://:secret@h:7/3", "h:7"},
		{"rediss://user:secret@h:7", "h:7 tls"},
		{"redis://u:secret@h:7?addr=i:8", "cluster h:7 i:8"},
		{"redis://:addr=secret@h:7", "h:7"},
		{"rediss://u:secret@h:7?addr=i:8&addr=j:9", "cluster h:7 i:8 j:9 tls"},
	} {
		addrs, want := c[0], c[1]
		rdb, err := Connect(addrs)
		if err != nil {
			t.Errorf("%s: %v", addrs, err)
			continue
		}
		const two = 2 * time.Second
		got, waits := describe(rdb)
		if wantWaits := (patience{two, two, two, 1, true}); got != want || waits != wantWaits {
			t.Errorf("%s: %s, waits %+v; want %s, %+v", addrs, got, waits, want, wantWaits)
		}
		// A failover is found within a second.
		if c, ok := rdb.(*redis.ClusterClient); ok && c.Options().ClusterStateReloadInterval != time.Second {
			t.Errorf("%s: the cluster is read again after %s", addrs, c.Options().ClusterStateReloadInterval)
		}
		_ = rdb.Close()
	}
	for _, bad := range []string{"", "localhost", "a:1,", "a:1,b", "http://:secret@h:1", "redis://:secret@h:1/x",
		"redis://u:secret@h:1?addr=i:1&x=y", "redis://u:secret%@h"} {
		rdb, err := Connect(bad)
		if err == nil {
			t.Errorf("%q was understood as %T", bad, rdb)
			_ = rdb.Close()
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", bad, err)
		}
	}
}

// patience has a client's time limits for Redis.
type patience struct {
	dial, read, write time.Duration
	dials             int
	context           bool // no longer than its caller
}

func describe(rdb redis.UniversalClient) (text string, waits patience) {
	var parts []string
	tls := false
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		o := c.Options()
		parts, tls = append([]string{"cluster"}, o.Addrs...), o.TLSConfig != nil
		waits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries, o.ContextTimeoutEnabled}
	case *redis.Client:
		o := c.Options()
		parts, tls = []string{o.Addr}, o.TLSConfig != nil
		waits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries, o.ContextTimeoutEnabled}
	}
	if tls {
		parts = append(parts, "tls")
	}
	return strings.Join(parts, " "), waits
}
