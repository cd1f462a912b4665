package store

import (
	"context"

	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

// maxParallel is how many shards are worked on at the same time.
const maxParallel = 8

// Shards is how many shards the campaign's keys are spread over.
func Shards(c *rain.Campaign) int { return max(1, c.Shards) }

// eachShard does something to all shards, a few at a time. The first error stops the rest.
func eachShard(ctx context.Context, c *rain.Campaign, do func(ctx context.Context, shard int) error) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(maxParallel)
	for shard := range Shards(c) {
		eg.Go(func() error { return do(ctx, shard) })
	}
	return eg.Wait()
}
