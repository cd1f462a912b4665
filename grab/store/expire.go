package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Expire lets go what a closed campaign has left in Redis, so that Redis does not fill up with what is over: after
// ttl its keys are gone. Until then a win can be asked for again. Only the caller knows that the ledger has
// everything; what Redis can say for itself is checked: a shard that is not closed, or has something in its outbox,
// keeps its keys, and the answer is ErrNotClosed. Doing it again starts the time anew.
func (s *Stock) Expire(ctx context.Context, c *rain.Campaign, ttl time.Duration) error {
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		status, err := s.rdb.HGet(ctx, k.State, fieldStatus).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return s.checked(err)
		}
		waiting, err := s.rdb.XLen(ctx, k.Outbox).Result()
		if err != nil {
			return s.checked(err)
		}
		if waiting > 0 || status != "" && status != string(rain.Closed) {
			return fmt.Errorf("shard %d: %w", shard, ErrNotClosed)
		}
		_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range append(k.opening(), k.Top) {
				p.PExpire(ctx, key, ttl)
			}
			if shard == 0 {
				p.PExpire(ctx, s.keys.nodes(c.ID), ttl)
			}
			return nil
		})
		return s.checked(err)
	})
	if err != nil {
		return fmt.Errorf("letting go of campaign %s: %w", c.ID, err)
	}
	return nil
}
