package grab

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/rain"
)

// Options set Gates up. The zero value works.
type Options struct {
	// TapRate is how many taps per second a player may make on one node, and in one burst; 0 is no limit.
	TapRate int
	// Clock is the cluster's time (see store.Clock); nil is the machine's own, which is right only where Redis runs
	// on the same machine.
	Clock rain.Clock
	// Log receives what an operator should know; nil drops it.
	Log *slog.Logger
	// Registerer takes the metrics; nil keeps them unregistered.
	Registerer prometheus.Registerer
	// OnWin is called when a batch has left wins in a shard's outbox, so that the relay need not wait for its next
	// round. It must not block. May be nil.
	OnWin func(campaign string, shard int)
	// OnSoldOut is called when this node finds a shard sold out: once, until the next rain begins. It must not
	// block. May be nil.
	OnSoldOut func(campaign string, shard int)
}

// script decides the taps on one shard; store.Batch is one.
type script interface {
	Add(user *string, drop rain.DropID)
	Decide(ctx context.Context) (*store.Answer, error)
}

// confirmer makes sure of wins before their players are told; confirm.Confirmer is one.
type confirmer interface {
	Immediate() bool
	Confirm(ctx context.Context, campaign string, shard int, p *confirm.Pending) error
}

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
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnWin == nil {
		o.OnWin = func(string, int) {}
	}
	if o.OnSoldOut == nil {
		o.OnSoldOut = func(string, int) {}
	}
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
	g := newGate(gs, c)
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
