package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

const (
	chunkPackets = 2_000 // packets in one call of open.lua; Lua takes less than 8,000 arguments at once
	// chunksAtOnce is how many calls of all shards together are sent before their answers are waited for; each shard
	// sends one in any case.
	chunksAtOnce = 4
	// closesAfterMS is how long the script goes on taking taps after the nodes have stopped, as their clocks differ.
	closesAfterMS = 500
)

// Stock is what a campaign has to give away, shard by shard: it is brought in, put on offer, and closed.
type Stock struct{ *client }

// NewStock makes a Stock.
func NewStock(s *Store) *Stock { return &Stock{s.client} }

// Open stocks the campaign and opens it: every shard gets its part of amounts (element i is packet i), and when all
// of them are complete, all are opened. It may be repeated after a crash at any point, and run on several nodes at
// once; a shard that is open already is left alone. No player sees a campaign half open: without a rain, which
// Apply brings, no tap counts.
//
// It fails with ErrClosed where a shard is closed.
func (s *Stock) Open(ctx context.Context, c *rain.Campaign, amounts []rain.Money) error {
	if len(amounts) != c.Packets {
		return fmt.Errorf("opening campaign %s: %d amounts for %d packets", c.ID, len(amounts), c.Packets)
	}
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		first, n := rain.ShardRange(c.Packets, Shards(c), shard)
		return s.load(ctx, s.keys.shard(c.ID, shard), first, amounts[first:first+n], max(1, chunksAtOnce/Shards(c)))
	})
	if err != nil {
		return fmt.Errorf("stocking campaign %s: %w", c.ID, err)
	}
	err = eachShard(ctx, c, func(ctx context.Context, shard int) error {
		first, n := rain.ShardRange(c.Packets, Shards(c), shard)
		return s.finish(ctx, c, s.keys.shard(c.ID, shard), amounts[first:first+n])
	})
	if err != nil {
		return fmt.Errorf("opening campaign %s: %w", c.ID, err)
	}
	return nil
}

// load brings a shard's stock in, atOnce chunks at a time, from where an earlier try has stopped.
func (s *Stock) load(ctx context.Context, k Keys, first int, amounts []rain.Money, atOnce int) error {
	loaded, err := s.rdb.LLen(ctx, k.Stock).Result()
	if s.checked(err) != nil {
		return err
	}
	// Each round sends a few chunks at once. At least one goes, so that a shard that is complete or open already
	// says so.
	from := min(int(loaded), len(amounts)-1)
	args := make([]any, 0, 4+chunkPackets)
	for from < len(amounts) {
		to := min(from+atOnce*chunkPackets, len(amounts))
		more, err := s.loadChunks(ctx, k, first, amounts, from, to, args)
		if err != nil || !more {
			return err
		}
		from = to
	}
	return nil
}

// loadChunks sends the packets from … to-1 of a shard. more is false when the shard needs none, because it is open.
// args is a buffer for a chunk's arguments.
func (s *Stock) loadChunks(
	ctx context.Context, k Keys, first int, amounts []rain.Money, from, to int, args []any,
) (more bool, err error) {
	var calls []*redis.Cmd
	send := func() error {
		calls = calls[:0]
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for at := from; at < to; at += chunkPackets {
				chunk := amounts[at:min(at+chunkPackets, to)]
				args = append(args[:0], "load", first, len(amounts), at)
				for i := range chunk {
					// a pointer, because each number in an interface would be an allocation
					args = append(args, (*int64)(&chunk[i]))
				}
				calls = append(calls, s.scripts.open.EvalSha(ctx, p, k.loading(), args...))
			}
			return nil
		})
		return err
	}
	err = send()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		// In a pipeline go-redis does not fall back on the source.
		if err = s.client.load(ctx); err == nil {
			err = send()
		}
	}
	if s.checked(err) != nil {
		return false, named(err)
	}
	for _, call := range calls {
		if more, err := loading(call); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// finish opens a shard that is loaded.
func (s *Stock) finish(ctx context.Context, c *rain.Campaign, k Keys, amounts []rain.Money) error {
	sum, err := rain.Sum(amounts)
	if err != nil {
		return err
	}
	_, err = loading(s.run(ctx, s.scripts.open, k.loading(),
		"finish", c.Revision, int64(sum), c.WinsPerUser, c.TapsPerUser, group))
	return err
}

func (k Keys) loading() []string { return []string{k.State, k.Stock, k.Outbox} }

// loading reads an answer of open.lua, and tells whether the shard is still being loaded.
func loading(call *redis.Cmd) (bool, error) {
	switch code, err := call.Int(); {
	case err != nil:
		return false, err
	case code < 0:
		return false, ErrClosed
	default:
		return code == 1, nil
	}
}

// Apply brings every shard up to the campaign's version: whether it is paused, and the rain in which taps count. An
// older version than the one in force changes nothing, and nothing opens a closed shard again. A closed campaign is
// closed as by CloseCampaign; one that is still loading has nothing to apply.
//
// It fails with ErrNoState where a shard has not been opened, or Redis has lost it.
func (s *Stock) Apply(ctx context.Context, c *rain.Campaign) error {
	switch c.Status {
	case rain.Loading:
		return nil
	case rain.Closed:
		return s.CloseCampaign(ctx, c)
	}
	update := append([]any{fieldRevision, c.Revision, "update", 0, fieldStatus, string(c.Status)},
		rainFields(c.Current())...)
	err := eachShard(ctx, c, func(ctx context.Context, shard int) error {
		code, err := s.run(ctx, s.scripts.newer, []string{s.keys.shard(c.ID, shard).State}, update...).Int()
		if err == nil && code < 0 {
			err = fmt.Errorf("shard %d: %w", shard, ErrNoState)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("applying revision %d of campaign %s: %w", c.Revision, c.ID, err)
	}
	return nil
}

// rainFields are the fields of the state that say when taps count. A rain that was stopped is none.
func rainFields(r *rain.Rain) []any {
	if r == nil || r.StoppedAt != 0 {
		return []any{fieldRain, "", fieldOpens, 0, fieldCloses, 0, fieldPaced, 0, fieldDuration, 0}
	}
	paced := 0
	if r.Pacing == rain.PacingEven {
		paced = 1
	}
	return []any{
		fieldRain, r.ID, fieldOpens, r.StartsAt, fieldCloses, r.TapsUntil() + closesAfterMS,
		fieldPaced, paced, fieldDuration, r.DurationMS,
	}
}

// CloseCampaign shuts every shard for good; what is left of its stock goes to the outbox as a reclaim, once.
// Closing what is closed changes nothing. A shard that was never opened is emptied without a reclaim.
//
// It fails with ErrNoState where Redis knows nothing of a shard; the others are closed all the same.
func (s *Stock) CloseCampaign(ctx context.Context, c *rain.Campaign) error {
	errs := make([]error, Shards(c))
	_ = eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := s.keys.shard(c.ID, shard)
		if err := s.run(ctx, s.scripts.close, []string{k.State, k.Stock, k.Taps, k.Outbox}).Err(); err != nil {
			errs[shard] = fmt.Errorf("closing shard %d of campaign %s: %w", shard, c.ID, err)
		}
		return nil
	})
	return errors.Join(errs...)
}
