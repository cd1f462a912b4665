package confirm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Warnings names each master without a replica that is online, and only where wins need one.
func TestAMissingReplicaIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		m       fakeMaster
		mode    Mode
		cluster bool
		want    string
	}{
		{"online", fakeMaster{info: followed}, Replica, false, ""},
		{"alone", fakeMaster{info: alone}, Replica, false, "Redis has no replica that is online: with"},
		{"copying", fakeMaster{info: "role:master slave0:state=wait_bgsave"}, Replica, false, "Redis has no replica"},
		{"in a Cluster", fakeMaster{info: alone}, Replica, true, ": with --confirm replica"},
		{"silent", fakeMaster{failed: errors.New("away")}, Replica, false,
			"Redis does not report its replicas (away): with"},
		{"with a stream", fakeMaster{info: alone}, Stream, false, ""},
		{"without", fakeMaster{info: alone}, Redis, false, ""},
	} {
		s, _ := atMaster(t, &c.m, c.cluster)
		publish := publisher(func(context.Context, rain.Entry) error { return nil })
		got := strings.Join(New(s, c.mode, publish, nil).Warnings(t.Context()), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			c.cluster != strings.Contains(got, "Redis at ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Masters that cannot be found are a warning, too.
func TestUnknownMastersAreWarnedOf(t *testing.T) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return nil, errors.New("no map") },
	})
	defer func() { _ = rdb.Close() }()
	got := New(store.New(rdb, store.Options{}), Replica, nil, nil).Warnings(t.Context())
	if len(got) != 1 || !strings.Contains(got[0], "read the replicas of the masters of Redis: no map") {
		t.Errorf("%q", got)
	}
}
