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
	work      *workers

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
		work: newWorkers(), gates: map[string]*Gate[T]{},
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
	amounts, err := gs.o.Amounts.Of(c)
	if err != nil { // a campaign that cannot be split is never stocked, so nothing can be won of it
		gs.o.Log.Error("a campaign's packets are unknown", "campaign", c.ID, "err", err)
		amounts = &rain.Amounts{}
	}
	for number := range g.shards {
		g.shards[number] = gs.shard(g, number, amounts)
	}
	gs.gates[c.ID] = g
	return g
}

// shard makes the way of one shard's taps.
func (gs *Gates[T]) shard(g *Gate[T], number int, amounts *rain.Amounts) *shard[T] {
	s := &shard[T]{}
	push := func(t *Tap[T]) bool { return s.push(t) } // the coalescer comes last
	tell := answers[T]{tell: gs.answer, next: push}
	s.drought = newDrought(gs.work, tell)
	lane := g.layout.LaneOfShard(number)
	shards, _ := g.layout.Part(lane)
	soldOut := g.soldOut[lane].Load
	s.drought.again, s.drought.soldOut = push, soldOut
	s.drought.dry = func(taps int) { gs.o.OnDry(g.campaign, number, taps) }
	d := &decider[T]{
		campaign: g.campaign, shard: number, script: gs.scripts(g.campaign, number), confirmer: gs.confirmer,
		answers: tell, metrics: gs.metrics, log: gs.o.Log, rain: func() *rain.Rain { return g.view.Load().rain },
		amounts: amounts, clock: gs.o.Clock, drought: s.drought, alone: shards.Count() == 1,
		onWin:     gs.o.OnWin,
		onSoldOut: func() { g.SoldOut(lane) }, soldOut: soldOut,
	}
	s.coalescer = newCoalescer(gs.work, d.decide, d.giveUp)
	return s
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
