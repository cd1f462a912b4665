package campaigns

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// watchEvery is how often it is looked whether Redis knows all that it once knew.
const watchEvery = time.Second

// Watch notices a Redis that has gone back in time: a master that came back with an older file, a replica that
// lagged and took over. Each shard of it knows its newest outbox entry and its number of moves, and the ledger has
// the highest of both that it has seen. A shard that knows less has lost wins or moves, and its packets may be on
// offer a second time; it takes no taps any more until it is rebuilt. All nodes may watch at once.
type Watch struct{ o WatchOptions }

// Seen tells the highest that the ledger has seen of each shard. [posting.Moves] does.
type Seen interface {
	Known(ctx context.Context, c *rain.Campaign) ([]posting.Known, error)
}

// Loser takes a shard out of the game if Redis does not know an outbox entry or a move that there was.
// [store.Moves] does.
type Loser interface {
	Lose(ctx context.Context, campaign string, shard int, entry string, moves int64) (lost bool, err error)
}

// WatchOptions of a watch. All are needed but those that say so.
type WatchOptions struct {
	Seen  Seen
	Loser Loser
	Sums  ShardLevels
	Known Known
	Bus   Bus
	Guard *rounds.Guard // hears of a round that panics; nil: it is logged only
	Log   *slog.Logger
}

// NewWatch makes a watch. Its Run must be started.
func NewWatch(o WatchOptions) *Watch { return &Watch{o} }

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	looking := outage.Outage{What: "looking whether Redis has gone back in time", Log: w.o.Log}
	rounds.Every(ctx, watchEvery, func(ctx context.Context) {
		var failed error
		for _, c := range w.o.Known.Live() {
			if c.Status != rain.Loading {
				failed = errors.Join(failed, w.o.Guard.Try("watch", func() error { return w.look(ctx, c) }))
			}
		}
		looking.Ended(ctx, failed)
	})
	return nil
}

// look compares what the ledger has seen with what Redis knows, in this order: Redis goes on meanwhile. A shard that
// cannot be read holds up no other.
func (w *Watch) look(ctx context.Context, c *rain.Campaign) error {
	seen, err := w.o.Seen.Known(ctx, c)
	if err != nil {
		return err
	}
	levels, failed := readShards(ctx, w.o.Sums, c)
	for shard, l := range levels {
		if !l.Known || !l.Behind(seen[shard].Entry, seen[shard].Moves) {
			continue
		}
		lost, err := w.o.Loser.Lose(ctx, c.ID, shard, seen[shard].Entry, seen[shard].Moves)
		failed = errors.Join(failed, err)
		if lost {
			w.o.Log.Error("redis has gone back in time; the shard takes no taps until it is rebuilt", "campaign", c.ID,
				"shard", shard, "knows", l.Entry, "ledger_has", seen[shard].Entry, "moves", l.Moves, "moves_seen",
				seen[shard].Moves)
			w.o.Bus.Alarm("redis_went_back", c.ID, "redis has lost a part of what it knew of the campaign; the shard "+
				"takes no taps until it is rebuilt: with --confirm stream that happens by itself, else run redrain "+
				"rebuild "+
				c.ID)
		}
	}
	return failed
}
