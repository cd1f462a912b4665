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

// shard makes the decider of one shard's taps.
func (gs *Gates[T]) shard(g *Gate[T], number int, amounts *rain.Amounts) *shard[T] {
	s := &shard[T]{}
	push := func(t *Tap[T]) bool { return s.push(t) } // the coalescer comes last
	results := answers[T]{report: gs.answer, next: push}
	s.shortage = newShortage(gs.work, results)
	lane := g.layout.LaneOfShard(number)
	shards, _ := g.layout.Part(lane)
	soldOut := g.soldOut[lane].Load
	s.shortage.again, s.shortage.soldOut = push, soldOut
	s.shortage.onEmpty = func(taps int) { gs.o.OnEmpty(g.campaign, number, taps) }
	d := &decider[T]{
		campaign: g.campaign, shard: number, script: gs.scripts(g.campaign, number), confirmer: gs.confirmer,
		answers: results, metrics: gs.metrics, log: gs.o.Log, rain: func() *rain.Rain { return g.view.Load().rain },
		amounts: amounts, clock: gs.o.Clock, shortage: s.shortage, alone: shards.Count() == 1,
		onWin:     gs.o.OnWin,
		onSoldOut: func() { g.SoldOut(lane) }, soldOut: soldOut,
	}
	s.coalescer = newCoalescer(gs.work, d.decide, d.giveUp)
	return s
}

// Drop removes a campaign's gate and its cache. Taps in flight still get their results.
func (gs *Gates[T]) Drop(campaign string) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	delete(gs.gates, campaign)
}

// Close waits until the batches in flight and the taps behind them have their answers. Later taps are unavailable.
func (gs *Gates[T]) Close() { gs.work.close() }
