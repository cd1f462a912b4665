package store

import (
	"context"
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
