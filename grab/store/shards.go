package store

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

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
	return c.checked(err)
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
