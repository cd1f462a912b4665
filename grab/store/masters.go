package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Master is a master of Redis as its INFO describes it. A field that it hides is empty.
type Master struct {
	Addr       string // in a Cluster; else ""
	Kind       string // Redis or Valkey
	Version    string
	Eviction   string // its maxmemory-policy
	AppendOnly string // "1" if it has an append-only file
	Replicas   int    // that are online
}

// Masters describes all masters, in the order of their addresses.
func (s *Store) Masters(ctx context.Context) (all []Master, err error) {
	var mu sync.Mutex
	var failed error
	err = s.EachMaster(ctx, func(ctx context.Context, addr string, master redis.Cmdable) {
		info, err := master.Info(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, parseMaster(addr, info))
		failed = cmp.Or(failed, s.Checked(err))
	})
	slices.SortFunc(all, func(a, b Master) int { return cmp.Compare(a.Addr, b.Addr) })
	return all, wrap(cmp.Or(err, failed), "describe the masters of redis")
}

func parseMaster(addr, info string) Master {
	fields := map[string]string{}
	m := Master{Addr: addr, Kind: "Redis"}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
		if strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online") {
			m.Replicas++
		}
	}
	if fields["server_name"] == "valkey" { // its redis_version is that of its commands
		m.Kind = "Valkey"
	}
	m.Version = cmp.Or(fields["valkey_version"], fields["redis_version"])
	m.Eviction, m.AppendOnly = fields["maxmemory_policy"], fields["aof_enabled"]
	return m
}
