package store

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterEvery is how often a master that has gone or moved is looked for again.
const masterEvery = 50 * time.Millisecond

// Keys are the keys of a shard.
func (s *Store) Keys(campaign string, shard int) Keys { return s.keys.shard(campaign, shard) }

// Checked returns the error as it is. Where a node of a Cluster did not answer, it has the cluster's map read again.
func (s *Store) Checked(err error) error { return s.checked(err) }

// IsCluster tells whether Redis is a Cluster.
func (s *Store) IsCluster() bool {
	_, cluster := s.rdb.(*redis.ClusterClient)
	return cluster
}

// MarkFull writes a shard's confirmation key, as SET does, also to a Redis that is full.
func (s *Store) MarkFull(ctx context.Context, p redis.Pipeliner, k Keys, ttl time.Duration) {
	s.scripts.mark.Eval(ctx, p, []string{k.Confirmed}, ttl.Milliseconds())
}

// OnMaster sends commands over one connection to the master that has the key. Where it does not answer or is no
// master any more, it looks for the one that is, until ctx ends. commands may be called several times; addr is the
// master's in a Cluster, else "".
func (s *Store) OnMaster(ctx context.Context, key string, commands func(addr string, p redis.Pipeliner) error) error {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		// go-redis itself tries again
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return commands("", p) })
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

// MasterOf is the master that has the key.
func (s *Store) MasterOf(ctx context.Context, key string) (redis.Cmdable, error) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return s.rdb, nil
}

// OnServer calls ask with another server of Redis than the one that this Store is connected to: by the address that
// Redis itself gives of it, "ip:port", and as the same user. It is for a single server's replicas, not for a Cluster.
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

// errNoServer is an address that is none.
var errNoServer = errors.New("a server of redis cannot be reached by its address")

// EachMaster calls do with every master there is, several at a time; addr is the master's in a Cluster, else "".
func (s *Store) EachMaster(ctx context.Context, do func(ctx context.Context, addr string, master redis.Cmdable)) error {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		do(ctx, "", s.rdb)
		return nil
	}
	return s.checked(cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		do(ctx, node.Options().Addr, node)
		return nil
	}))
}
