package store

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

// masterEvery is the interval of looking for a master that is gone or has moved.
const masterEvery = 50 * time.Millisecond

// Keys returns the keys of a shard.
func (s *Store) Keys(campaign string, shard int) Keys { return s.keys.shard(campaign, shard) }

// IsCluster reports whether Redis is a Cluster.
func (s *Store) IsCluster() bool {
	_, cluster := s.rdb.(*redis.ClusterClient)
	return cluster
}

// MarkFull writes a shard's confirmation key, as SET does, also to a Redis that is full.
func (s *Store) MarkFull(ctx context.Context, p redis.Pipeliner, k Keys, ttl time.Duration) {
	s.scripts["mark"].Eval(ctx, p, []string{k.Confirmed}, ttl.Milliseconds())
}

// OnMaster sends commands over one connection to the master of the key. If that does not answer or is not a master
// any more, OnMaster looks for the new one, until ctx ends. It may call commands several times; addr is the master's
// in a Cluster, else "".
func (c *client) OnMaster(ctx context.Context, key string, commands func(addr string, p redis.Pipeliner) error) error {
	cluster, ok := c.rdb.(*redis.ClusterClient)
	if !ok {
		// go-redis itself tries again
		_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return commands("", p) })
		return err
	}
	again := time.NewTicker(masterEvery)
	defer again.Stop()
	for {
		node, err := cluster.MasterForKey(ctx, key)
		if err == nil {
			_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error { return commands(node.Options().Addr, p) })
		}
		if err == nil || redis.HasErrorPrefix(err, "OOM") {
			return err
		}
		cluster.ReloadState(ctx)
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// MasterOf returns the master of the key.
func (s *Store) MasterOf(ctx context.Context, key string) (redis.Cmdable, error) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return s.rdb, nil
}

// OnServer calls ask with another server of Redis than the one of this Store. It connects to the address that Redis
// itself reports, "ip:port", as the same user. It is for a single server's replicas, not for a Cluster.
func (s *Store) OnServer(addr string, ask func(server redis.Cmdable) error) error {
	client, ok := s.rdb.(*redis.Client)
	colon := strings.LastIndex(addr, ":")
	if !ok || colon < 0 {
		return errNoServer
	}
	o := *client.Options()
	o.Addr, o.PoolSize, o.MinIdleConns, o.MaxRetries = net.JoinHostPort(addr[:colon], addr[colon+1:]), 1, 0, -1
	server := redis.NewClient(&o)
	defer func() { _ = server.Close() }()
	return ask(server)
}

// errNoServer refuses an invalid address.
var errNoServer = errors.New("invalid address of a redis server")

// replID is the line of INFO replication that names a history of writes.
var replID = regexp.MustCompile(`(?m)^master_replid:(\w+)`)

// History returns the replication id in INFO replication, or "".
func History(info string) string {
	if found := replID.FindStringSubmatch(info); found != nil {
		return found[1]
	}
	return ""
}

// ReloadTopology makes the client read the masters of a Cluster again.
func (s *Store) ReloadTopology(ctx context.Context) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// EachMaster calls do with every master, several at a time; addr is the master's in a Cluster, else "".
func (s *Store) EachMaster(ctx context.Context, do func(ctx context.Context, addr string, master redis.Cmdable)) error {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		do(ctx, "", s.rdb)
		return nil
	}
	return s.Checked(cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		do(ctx, node.Options().Addr, node)
		return nil
	}))
}

// maxParallel is the number of shards that are served at the same time.
const maxParallel = 8

// Shards returns the number of shards over which the campaign's keys are spread.
func Shards(c *rain.Campaign) int { return max(1, c.Shards) }

// eachShard calls do for all shards, a few at a time. The first error stops the rest.
func eachShard(ctx context.Context, c *rain.Campaign, do func(ctx context.Context, shard int) error) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(maxParallel)
	for shard := range Shards(c) {
		eg.Go(func() error { return do(ctx, shard) })
	}
	return eg.Wait()
}

// everyShard is eachShard, and goes on with the others after an error: a master that is away blocks no other.
func everyShard(ctx context.Context, c *rain.Campaign, do func(ctx context.Context, shard int) error) error {
	errs := make([]error, Shards(c))
	_ = eachShard(ctx, c, func(ctx context.Context, shard int) error {
		errs[shard] = do(ctx, shard)
		return nil
	})
	return errors.Join(errs...)
}

// readShards puts commands for all shards of a campaign into pipelines: one for each master, all at once. (The client
// would use one, and discard the answers of all masters if one does not answer.) Each command has its own error.
func (c *client) readShards(ctx context.Context, of *rain.Campaign, put func(p redis.Pipeliner, shard int)) {
	cluster, _ := c.rdb.(*redis.ClusterClient)
	masters := map[string][]int{}
	for shard := range Shards(of) {
		master := ""
		if cluster != nil {
			if node, err := cluster.MasterForKey(ctx, c.keys.shard(of.ID, shard).State); err == nil {
				master = node.Options().Addr
			}
		}
		masters[master] = append(masters[master], shard)
	}
	var reading sync.WaitGroup
	for _, shards := range masters {
		reading.Go(func() {
			_ = c.pipelined(ctx, func(p redis.Pipeliner) {
				for _, shard := range shards {
					put(p, shard)
				}
			})
		})
	}
	reading.Wait()
}

// pipelined sends the commands that put adds to a pipeline.
func (c *client) pipelined(ctx context.Context, put func(p redis.Pipeliner)) error {
	_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { put(p); return nil })
	return c.Checked(err)
}

// ofShards sends one command for each shard of a campaign in one pipeline.
func ofShards[C redis.Cmder](ctx context.Context, c *client, of *rain.Campaign,
	command func(p redis.Pipeliner, k Keys) C) ([]C, error) {
	all := make([]C, Shards(of))
	err := c.pipelined(ctx, func(p redis.Pipeliner) {
		for shard := range all {
			all[shard] = command(p, c.keys.shard(of.ID, shard))
		}
	})
	return all, err
}
