package grab

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/rain"
)

// Gates takes the taps of this node, with one Gate for each campaign. T is the caller's data for answering a tap.
// Methods are safe for concurrent use.
type Gates[T any] struct {
	scripts   func(campaign string, shard int) script
	confirmer confirmer
	answer    Answer[T]
	o         Options
	metrics   *metrics
	work      *workers

	mu    sync.RWMutex
	gates map[string]*Gate[T]
}

// NewGates returns Gates whose taps are decided in Redis. It reports them to answer when c has confirmed them.
func NewGates[T any](s *store.Store, c *confirm.Confirmer, answer Answer[T], o Options) *Gates[T] {
	script := func(campaign string, shard int) script { return store.NewBatch(s, campaign, shard) }
	return newGates(script, c, answer, o)
}

func newGates[T any](
	scripts func(campaign string, shard int) script, c confirmer, answer Answer[T], o Options,
) *Gates[T] {
	o = o.withDefaults()
	return &Gates[T]{
		scripts: scripts, confirmer: c, answer: answer, o: o, metrics: newMetrics(o.Registerer),
		work: newWorkers(), gates: map[string]*Gate[T]{},
	}
}

// Gate returns the campaign's gate, and makes it if there is none. It gives the gate c, if that is newer.
func (gs *Gates[T]) Gate(c *rain.Campaign) *Gate[T] {
	gs.mu.RLock()
	g := gs.gates[c.ID]
	gs.mu.RUnlock()
	if g == nil {
		g = gs.make(c)
	}
	g.Update(c)
	return g
}

func (gs *Gates[T]) make(c *rain.Campaign) *Gate[T] {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if g := gs.gates[c.ID]; g != nil {
		return g
	}
	g := newGate[T](c, gs.o)
	amounts, err := gs.o.Amounts.Of(c)
	if err != nil { // an invalid split is never stocked, so the campaign has no packets
		gs.o.Log.Error("a campaign's packets are unknown", "campaign", c.ID, "err", err)
		amounts = &rain.Amounts{}
	}
	for number := range g.shards {
		g.shards[number] = gs.shard(g, number, amounts)
	}
	gs.gates[c.ID] = g
	return g
}

// Drop removes a campaign's gate and its cache. Taps in flight still get their results.
func (gs *Gates[T]) Drop(campaign string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	delete(gs.gates, campaign)
}

// Close waits until the batches in flight and the taps behind them have their answers. Later taps are unavailable.
func (gs *Gates[T]) Close() { gs.work.close() }

// Options set Gates up. The zero value works.
type Options struct {
	// TapRate is the number of taps per second that a player may make over all nodes, and in one burst. The player's
	// nodes share it (Tap.Nodes). Defaults to 0, no limit.
	TapRate int
	// Clock is the cluster's time (see store.Clock). Defaults to the machine's clock, which is right only if Redis
	// runs on the same machine.
	Clock rain.Clock
	// Log receives warnings and errors. Defaults to none.
	Log *slog.Logger
	// Registerer takes the metrics. Defaults to none: they stay unregistered.
	Registerer prometheus.Registerer
	// OnWin is called with the outbox entry of a batch's wins when it may leave Redis, for each shard in the order of
	// its decisions. It must not block. May be nil. It is pipeline.Deciders.Publish; nil with --confirm stream.
	OnWin func(*rain.Entry)
	// OnEmpty is called when a shard has no stock left for taps of this node. Its argument taps counts those that
	// wait for stock from elsewhere. It must not block. May be nil.
	OnEmpty func(campaign string, shard, taps int)
	// Amounts caches the amounts of the campaigns' packets, shared with the rest of the process. Defaults to a new
	// cache.
	Amounts *rain.AmountsCache
}

// withDefaults sets the missing options.
func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnWin == nil {
		o.OnWin = func(*rain.Entry) {}
	}
	if o.OnEmpty == nil {
		o.OnEmpty = func(string, int, int) {}
	}
	if o.Amounts == nil {
		o.Amounts = rain.NewAmountsCache()
	}
	return o
}

type metrics struct{ batchSize, scriptSeconds, confirmSeconds prometheus.Histogram }

func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	return &metrics{
		batchSize: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_batch_size", Help: "Taps that one call of the grab script has decided.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, maxBatch},
		}),
		scriptSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_script_seconds", Help: "From sending a batch to Redis to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15), // 0.1 ms to 1.6 s
		}),
		confirmSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_confirm_seconds", Help: "From a batch's wins in Redis to their confirmation, with " +
				"--confirm replica or stream.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}),
	}
}
