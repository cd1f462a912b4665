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
	// OnWin is called when a batch has left wins in a shard's outbox, so that the relay need not wait for its next
	// round. It must not block. May be nil.
	OnWin func(campaign string, shard int)
	// OnSoldOut is called when this node finds a shard sold out: once, until the next rain begins. It must not
	// block. May be nil.
	OnSoldOut func(campaign string, shard int)
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
		o.OnWin = func(string, int) {}
	}
	if o.OnSoldOut == nil {
		o.OnSoldOut = func(string, int) {}
	}
	return o
}
