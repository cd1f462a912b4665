package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

const (
	// closesAfterMS is the time for which the script goes on taking taps after the nodes have stopped, as their
	// clocks differ.
	closesAfterMS = 500
	// reclaimedAtOnce is the number of ranges of stock that one call of close.lua returns.
	reclaimedAtOnce = 500
)

// Stock manages a campaign's packets, shard by shard: it loads, opens, updates and closes them.
type Stock struct{ *client }

// NewStock returns a Stock.
func NewStock(s *Store) *Stock { return &Stock{s.client} }

// Open stocks the campaign and opens it: every shard gets its part of the packets. It may be repeated after a crash
// at any point, and run on several nodes at once. It leaves open shards alone. Without a rain, which Apply brings, no
// tap counts. until is a deadline, Unix ms on the cluster's clock. After it, other nodes may have opened, played and
// lost the shard, so Redis refuses the call.
//
// It fails with ErrClosed if a shard is closed, and with ErrLate.
func (s *Stock) Open(ctx context.Context, c *rain.Campaign, until int64) error {
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		deadline, err := s.onServersClock(ctx, k.State, until)
		if err != nil {
			return err
		}
		all := c.Layout().Stock(shard)
		args := append([]any{deadline, c.Revision, all.String(), all.Count()}, openingFields(c)...)
		code, err := s.run(ctx, "open", k.opening(), args...).Int()
		if err == nil && code < 0 {
			err = fmt.Errorf("shard %d: %w", shard, ErrClosed)
		}
		return err
	})
	return wrap(err, "stock campaign %s", c.ID)
}

// onServersClock translates a time of the cluster's clock into that of a key's master, which may be wrong.
func (c *client) onServersClock(ctx context.Context, key string, at int64) (int64, error) {
	var now *redis.TimeCmd
	err := c.OnMaster(ctx, key, func(_ string, p redis.Pipeliner) error {
		now = p.Time(ctx)
		return nil
	})
	if err != nil {
		return 0, c.Checked(err)
	}
	return at + now.Val().UnixMilli() - c.clock(), nil
}

// Apply brings every shard up to the campaign's version: whether it is paused, and the rain in which taps count. An
// older version than the stored one changes nothing, and a closed shard stays closed. A closed campaign is closed as
// by CloseCampaign; for a loading campaign there is nothing to apply. It fails with ErrNoState if a shard has not been
// opened, or Redis has lost it; the others are brought up all the same.
func (s *Stock) Apply(ctx context.Context, c *rain.Campaign) error {
	switch c.Status {
	case rain.Loading:
		return nil
	case rain.Closed:
		return s.CloseCampaign(ctx, c)
	}
	update := append([]any{fieldRevision, c.Revision, "update", 0, fieldStatus, string(c.Status)},
		rainFields(c.Current())...)
	err := everyShard(ctx, c, func(ctx context.Context, shard int) error {
		code, err := s.run(ctx, "newer", []string{s.keys.shard(c.ID, shard).State}, update...).Int()
		if err == nil && code < 0 {
			err = fmt.Errorf("shard %d: %w", shard, ErrNoState)
		}
		return err
	})
	return wrap(err, "apply revision %d of campaign %s", c.Revision, c.ID)
}

// CloseCampaign closes every shard for good. The rest of its stock goes to the outbox as reclaims, each packet once.
// Closing a closed shard changes nothing. It fails with ErrNoState if Redis has no state of a shard; the others are
// closed all the same.
func (s *Stock) CloseCampaign(ctx context.Context, c *rain.Campaign) error {
	return everyShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		for left := 1; left > 0; {
			var err error
			at := s.clock()
			left, err = s.run(ctx, "close", []string{k.State, k.Stock, k.Outbox}, reclaimedAtOnce, at,
				s.ring.Closing(c.ID, shard, at)).Int()
			if err != nil {
				return fmt.Errorf("close shard %d of campaign %s: %w", shard, c.ID, err)
			}
		}
		return nil
	})
}

// Expire lets the keys of a closed campaign expire: after ttl they are gone. Until then wins can be read. The caller
// knows that the ledger has everything. If a shard is not closed, or its outbox is not empty, it keeps its keys and
// Expire returns ErrNotClosed. A repeated call starts the time anew.
func (s *Stock) Expire(ctx context.Context, c *rain.Campaign, ttl time.Duration) error {
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		status, err := s.rdb.HGet(ctx, k.State, fieldStatus).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return s.Checked(err)
		}
		waiting, err := s.rdb.XLen(ctx, k.Outbox).Result()
		if err != nil {
			return s.Checked(err)
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
	return wrap(err, "expire campaign %s", c.ID)
}
