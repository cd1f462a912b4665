package grab

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

const (
	maxParallel  = 8     // shards worked on at the same time
	chunkPackets = 2_000 // packets in one call of open.lua; Lua takes less than 8,000 arguments at once
	// calls sent before their answers are waited for, of all shards together; one of a shard in any case
	chunksAtOnce = 4
	// how long the script goes on taking taps after the nodes have stopped, as their clocks differ
	closesAfterMS = 500
)

// Open stocks the campaign and opens it: every shard gets its part of amounts (element i is packet i), and when all
// of them are complete, all are opened. It may be repeated after a crash at any point, and run on several nodes at
// once; a shard that is open already is left alone. No player sees a campaign half open: without a rain, which
// Apply brings, no tap counts.
//
// It fails with ErrClosed where a shard is closed.
func (g *Grabber) Open(ctx context.Context, c *rain.Campaign, amounts []rain.Money) error {
	if len(amounts) != c.Packets {
		return fmt.Errorf("opening campaign %s: %d amounts for %d packets", c.ID, len(amounts), c.Packets)
	}
	err := g.eachShard(ctx, c, func(ctx context.Context, shard int) error {
		first, n := rain.ShardRange(c.Packets, shardsOf(c), shard)
		return g.load(ctx, g.keys.shard(c.ID, shard), first, amounts[first:first+n], max(1, chunksAtOnce/shardsOf(c)))
	})
	if err != nil {
		return fmt.Errorf("stocking campaign %s: %w", c.ID, err)
	}
	err = g.eachShard(ctx, c, func(ctx context.Context, shard int) error {
		first, n := rain.ShardRange(c.Packets, shardsOf(c), shard)
		return g.finish(ctx, c, g.keys.shard(c.ID, shard), amounts[first:first+n])
	})
	if err != nil {
		return fmt.Errorf("opening campaign %s: %w", c.ID, err)
	}
	return nil
}

// load brings a shard's stock in, from where an earlier try has stopped, so many chunks at once.
func (g *Grabber) load(ctx context.Context, k shardKeys, first int, amounts []rain.Money, atOnce int) error {
	loaded, err := g.rdb.LLen(ctx, k.stock).Result()
	if g.seen(err) != nil {
		return err
	}
	// Each round sends a few chunks at once. At least one goes, so that a shard that is complete or open already
	// says so.
	from := min(int(loaded), len(amounts)-1)
	args := make([]any, 0, 4+chunkPackets)
	for from < len(amounts) {
		to := min(from+atOnce*chunkPackets, len(amounts))
		more, err := g.loadChunks(ctx, k, first, amounts, from, to, args)
		if err != nil || !more {
			return err
		}
		from = to
	}
	return nil
}

// loadChunks sends the packets from … to-1 of a shard. more is false when the shard needs none, because it is open.
// args is room to put a chunk's arguments together in.
func (g *Grabber) loadChunks(
	ctx context.Context, k shardKeys, first int, amounts []rain.Money, from, to int, args []any,
) (more bool, err error) {
	var calls []*redis.Cmd
	send := func() error {
		calls = calls[:0]
		_, err := g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for at := from; at < to; at += chunkPackets {
				chunk := amounts[at:min(at+chunkPackets, to)]
				args = append(args[:0], "load", first, len(amounts), at)
				for i := range chunk {
					// a pointer, because each number in an interface would be an allocation
					args = append(args, (*int64)(&chunk[i]))
				}
				calls = append(calls, g.scripts.open.EvalSha(ctx, p, k.loading(), args...))
			}
			return nil
		})
		return err
	}
	err = send()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		// In a pipeline go-redis does not fall back on the source.
		if err = g.Load(ctx); err == nil {
			err = send()
		}
	}
	if g.seen(err) != nil {
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
func (g *Grabber) finish(ctx context.Context, c *rain.Campaign, k shardKeys, amounts []rain.Money) error {
	sum, err := rain.Sum(amounts)
	if err != nil {
		return err
	}
	_, err = loading(g.run(ctx, g.scripts.open, k.loading(),
		"finish", c.Revision, int64(sum), c.WinsPerUser, c.TapsPerUser, group))
	return err
}

func (k shardKeys) loading() []string { return []string{k.state, k.stock, k.outbox} }

// loading reads an answer of open.lua: is the shard still being loaded?
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
func (g *Grabber) Apply(ctx context.Context, c *rain.Campaign) error {
	switch c.Status {
	case rain.Loading:
		return nil
	case rain.Closed:
		return g.CloseCampaign(ctx, c)
	}
	update := append([]any{fieldRevision, c.Revision, "update", 0, fieldStatus, string(c.Status)},
		rainFields(c.Current())...)
	err := g.eachShard(ctx, c, func(ctx context.Context, shard int) error {
		code, err := g.run(ctx, g.scripts.newer, []string{g.keys.shard(c.ID, shard).state}, update...).Int()
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
func (g *Grabber) CloseCampaign(ctx context.Context, c *rain.Campaign) error {
	errs := make([]error, shardsOf(c))
	_ = g.eachShard(ctx, c, func(ctx context.Context, shard int) error {
		k := g.keys.shard(c.ID, shard)
		if err := g.run(ctx, g.scripts.close, []string{k.state, k.stock, k.taps, k.outbox}).Err(); err != nil {
			errs[shard] = fmt.Errorf("closing shard %d of campaign %s: %w", shard, c.ID, err)
		}
		return nil
	})
	return errors.Join(errs...)
}

// eachShard does something to all shards, a few at a time. The first error stops the rest.
func (g *Grabber) eachShard(ctx context.Context, c *rain.Campaign,
	do func(ctx context.Context, shard int) error) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(maxParallel)
	for shard := range shardsOf(c) {
		eg.Go(func() error { return do(ctx, shard) })
	}
	return eg.Wait()
}
