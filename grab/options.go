package grab

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	// OnWin is called with the outbox entry of what a batch has won, when it may leave Redis, so that it is on its way
	// to the ledger as it was decided. It must not block. May be nil.
	OnWin func(*rain.Entry)
	// OnDry is called when a shard has nothing left for taps of this node, with how many wait for stock from
	// elsewhere. It must not block. May be nil.
	OnDry func(campaign string, shard, taps int)
	// Amounts is what the campaigns' packets hold, shared with the rest of the process; nil makes one.
	Amounts *rain.AmountsCache
}

// withDefaults fills in what is left out.
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
	if o.OnDry == nil {
		o.OnDry = func(string, int, int) {}
	}
	if o.Amounts == nil {
		o.Amounts = rain.NewAmountsCache()
	}
	return o
}
