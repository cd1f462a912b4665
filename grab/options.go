package grab

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/rain"
)

// Options set Gates up. The zero value works.
type Options struct {
	// TapRate is the number of taps per second that a player may make on one node, and in one burst. Defaults to 0,
	// no limit.
	TapRate int
	// Clock is the cluster's time (see store.Clock). Defaults to the machine's clock, which is right only if Redis
	// runs on the same machine.
	Clock rain.Clock
	// Log receives warnings and errors. Defaults to none.
	Log *slog.Logger
	// Registerer takes the metrics. Defaults to none: they stay unregistered.
	Registerer prometheus.Registerer
	// OnWin is called with the outbox entry of a batch's wins when it may leave Redis. So entries are published in the
	// order of the decisions. It must not block. May be nil.
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
