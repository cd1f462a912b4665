package campaigns

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// watchEvery is how often it is looked whether Redis knows all that it once knew.
const watchEvery = time.Second

// Watch notices a Redis that has gone back in time: a master that came back with an older file, a replica that
// lagged and took over. Each shard of it knows its newest outbox entry and its number of moves, and the ledger has
// the highest of both that it has seen. A shard that knows less has lost wins or moves, and its packets may be on
// offer a second time; it takes no taps any more until it is rebuilt. All nodes may watch at once.
type Watch struct {
	o       WatchOptions
	unknown prometheus.Gauge
}

// Seen tells the highest that the ledger has seen of each shard. [posting.Moves] does.
type Seen interface {
	Known(ctx context.Context, c *rain.Campaign) ([]posting.Known, error)
}

// Loser takes a shard out of the game if Redis does not know an outbox entry or a move that there was.
// [store.Moves] does.
type Loser interface {
	Lose(ctx context.Context, campaign string, shard int, entry string, moves int64) (lost bool, err error)
}

// WatchOptions of a watch. All are needed.
type WatchOptions struct {
	Node

	Seen  Seen
	Loser Loser
	Sums  ShardLevels
}

// NewWatch makes a watch. Its Run must be started.
func NewWatch(o WatchOptions) *Watch {
	return &Watch{o: o, unknown: promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{
		Name: "redrain_unknown_shards", Help: "Shards of live campaigns of which Redis does not tell: their master " +
			"does not answer, or has lost them.",
	})}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "watch", Work: "looking whether Redis has gone back in time",
		Every: watchEvery, Do: w.round, Recoverer: w.o.Recoverer, Log: w.o.Log})
}

// round looks at each campaign. One that panics holds up no other.
func (w *Watch) round(ctx context.Context) (failed error) {
	unknown := 0
	for _, c := range w.o.Known.Live() {
		if c.Status != rain.Loading {
			failed = errors.Join(failed, w.o.Recoverer.Try("watch", func() error {
				n, err := w.look(ctx, c)
				unknown += n
				return err
			}))
		}
	}
	w.unknown.Set(float64(unknown))
	return failed
}

// look compares what the ledger has seen with what Redis knows, in this order: Redis goes on meanwhile. A shard that
// cannot be read holds up no other; look tells how many those are.
func (w *Watch) look(ctx context.Context, c *rain.Campaign) (unknown int, failed error) {
	seen, err := w.o.Seen.Known(ctx, c)
	if err != nil {
		return 0, err
	}
	levels, failed := readShards(ctx, w.o.Sums, c)
	if levels == nil {
		return store.Shards(c), failed
	}
	for shard, l := range levels {
		if !l.Known {
			unknown++
		}
		if !l.Known || !l.Behind(seen[shard].Entry, seen[shard].Moves) {
			continue
		}
		lost, err := w.o.Loser.Lose(ctx, c.ID, shard, seen[shard].Entry, seen[shard].Moves)
		failed = errors.Join(failed, err)
		if lost {
			w.o.wentBack(c.ID, shard, "it knows less than the ledger has seen", "knows", l.Entry,
				"ledger_has", seen[shard].Entry, "moves", l.Moves, "moves_seen", seen[shard].Moves)
		}
	}
	return unknown, failed
}

// wentBack reports a shard that was taken out of the game.
func (n *Node) wentBack(campaign string, shard int, why string, args ...any) {
	n.Log.Error("redis has gone back in time; the shard takes no taps until it is rebuilt",
		append([]any{"campaign", campaign, "shard", shard, "why", why}, args...)...)
	n.Bus.Alarm("redis_went_back", campaign, "redis has lost a part of what it knew of the campaign; the shard takes "+
		"no taps until it is rebuilt: with --confirm stream that happens by itself, else run redrain rebuild "+campaign)
}
