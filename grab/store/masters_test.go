package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// TestMastersByTheirInfo: the lines of INFO, as Redis and Valkey write them. Hidden ones stay empty.
func TestMastersByTheirInfo(t *testing.T) {
	away := errors.New("away")
	for name, c := range map[string]struct {
		info string
		err  error
		want store.Master
	}{
		"redis": {"# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n",
			nil,
			store.Master{Kind: "Redis", Version: "7.0.15", Eviction: "noeviction", AppendOnly: "1"}},
		"valkey": {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n", nil,
			store.Master{Kind: "Valkey", Version: "8.0.1"}},
		"replicas": {"slave0:ip=::1,port=1,state=online,lag=0\r\nslave1:ip=::1,port=2,state=wait_bgsave\r\n", nil,
			store.Master{Kind: "Redis", Replicas: 1}},
		"away": {"", away, store.Master{Kind: "Redis"}},
	} {
		rdb := grabtest.InProcess(t)
		rdb.AddHook(grabtest.Hook{Command: func(redis.ProcessHook) redis.ProcessHook {
			return func(_ context.Context, cmd redis.Cmder) error {
				if text, ok := cmd.(*redis.StringCmd); ok {
					text.SetVal(c.info)
				}
				cmd.SetErr(c.err)
				return c.err
			}
		}})
		got, err := store.New(rdb, store.Options{}).Masters(t.Context())
		testenv.WantErr(t, err, c.err, name)
		testenv.Equal(t, got, []store.Master{c.want}, "%s", name)
	}
}
