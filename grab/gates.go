package grab

import (
	"sync"

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
