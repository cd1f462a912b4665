package grab

import (
	"sync"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/rain"
)

// Gates are where the taps of this node come in, one for each campaign. T is what whoever makes taps needs to tell
// their results. Methods may be called from any goroutine.
type Gates[T any] struct {
	scripts   func(campaign string, shard int) script
	confirmer confirmer
	answer    Answer[T]
	o         Options
	metrics   *metrics
	work      workers

	mu    sync.RWMutex
	gates map[string]*Gate[T]
}

// NewGates makes Gates whose taps are decided in Redis, and told to answer when c has confirmed them.
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
		gates: map[string]*Gate[T]{},
	}
}

// Gate is the campaign's gate, made where there is none. It learns c if that is newer than what it knows.
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
	for shard := range g.shards {
		d := &decider[T]{
			campaign: c.ID, shard: shard, script: gs.scripts(c.ID, shard), confirmer: gs.confirmer,
			answers: answers[T]{tell: gs.answer}, metrics: gs.metrics, log: gs.o.Log,
			onWin:     func() { gs.o.OnWin(c.ID, shard) },
			onSoldOut: func() { g.noteSoldOut(shard) },
		}
		g.shards[shard] = newCoalescer(&gs.work, d.decide, d.giveUp)
	}
	gs.gates[c.ID] = g
	return g
}

// Drop forgets a campaign's gate and what it remembers. Taps that are under way still get their results.
func (gs *Gates[T]) Drop(campaign string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	delete(gs.gates, campaign)
}

// Close waits until the batches in flight and what waits behind them have their answers. Taps that come later are
// unavailable.
func (gs *Gates[T]) Close() { gs.work.close() }
