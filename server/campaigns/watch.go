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

// watchEvery is the interval at which Redis is compared with the ledger.
const watchEvery = time.Second

// Watch detects a Redis that was rolled back: a master that restarted with an older file, or a lagging replica that
// took over. A shard has the id of its newest outbox entry and its number of moves, and the ledger has the highest seen
// of both. A shard with less has lost wins or moves, and may offer packets a second time; it takes no taps until it is
// rebuilt. All nodes may watch at once.
type Watch struct {
	o       WatchOptions
	unknown prometheus.Gauge
}

// Seen reads the highest entry and number of moves that the ledger has seen of each shard. [posting.Moves] implements
// it.
type Seen interface {
	Known(ctx context.Context, c *rain.Campaign) ([]posting.Known, error)
}

// Loser takes a shard out of service if Redis has lost an outbox entry or a move. [store.Moves] implements it.
type Loser interface {
	Lose(ctx context.Context, campaign string, shard int, entry string, moves int64) (lost bool, err error)
}

// Holder returns an error if another Redis than this node's has the present state of a shard. [confirm.Confirmer]
// implements it.
type Holder interface {
	Holds(ctx context.Context, campaign string, shard int) error
}

// WatchOptions are the options of a Watch. All are required.
type WatchOptions struct {
	Node

	Seen   Seen
	Loser  Loser
	Sums   ShardLevels
	Holder Holder
}

// NewWatch returns a watch. Its Run must be started.
func NewWatch(o WatchOptions) *Watch {
	return &Watch{o: o, unknown: promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{
		Name: "redrain_unknown_shards", Help: "Shards of live campaigns without an answer of Redis: their master " +
			"does not answer, or has lost them.",
	})}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "watch", Work: "check whether Redis was rolled back",
		Every: watchEvery, Do: w.round, Recoverer: w.o.Recoverer, Log: w.o.Log})
}

// round checks each campaign. A campaign that panics delays no other.
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

// look reads the ledger's view first and Redis second, because Redis goes on meanwhile, and compares them. A shard that
// cannot be read delays no other; look returns the number of those.
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
		// An old master has less than the ledger, too. It is not lost: another one has it.
		if err := w.o.Holder.Holds(ctx, c.ID, shard); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		lost, err := w.o.Loser.Lose(ctx, c.ID, shard, seen[shard].Entry, seen[shard].Moves)
		failed = errors.Join(failed, err)
		if lost {
			w.o.wentBack(c.ID, shard, "it has less than the ledger has seen", "knows", l.Entry,
				"ledger_has", seen[shard].Entry, "moves", l.Moves, "moves_seen", seen[shard].Moves)
		}
	}
	return unknown, failed
}

// wentBack reports a shard that was taken out of service.
func (n *Node) wentBack(campaign string, shard int, why string, args ...any) {
	n.Log.Error("redis was rolled back; the shard takes no taps until it is rebuilt",
		append([]any{"campaign", campaign, "shard", shard, "why", why}, args...)...)
	n.Bus.Alarm("redis_went_back", campaign, "redis has lost a part of the campaign's data; the shard takes "+
		"no taps until it is rebuilt: with --confirm stream that happens by itself, else run redrain rebuild "+campaign)
}
