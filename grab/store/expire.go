package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Expire lets the keys of a closed campaign expire, so that finished campaigns do not fill Redis: after ttl they are
// gone. Until then wins can be read. Only the caller can know that the ledger has everything. Expire checks Redis's
// side: if a shard is not closed, or its outbox is not empty, it keeps its keys and Expire returns ErrNotClosed. A
// repeated call starts the time anew.
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
		return s.pipelined(ctx, func(p redis.Pipeliner) {
			for _, key := range append(k.opening(), k.Top) {
				p.PExpire(ctx, key, ttl)
			}
			if shard == 0 {
				p.PExpire(ctx, s.keys.nodes(c.ID), ttl)
			}
		})
	})
	if err != nil {
		return fmt.Errorf("expire campaign %s: %w", c.ID, err)
	}
	return nil
}
