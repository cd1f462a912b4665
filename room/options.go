package room

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
)

// Options of a Lobby. The zero value is ready to use: zero or less means the default of each field.
type Options struct {
	ResultsMax   int           // most messages in a member's results lane; one more closes the member. Defaults to 256
	RainMax      int           // most messages in a member's rain lane; one more drops the oldest. Defaults to 8
	WriteTimeout time.Duration // limit of one write, and of all of CloseAfterFlush. Defaults to 5 s
	PingEvery    time.Duration // interval of pings; the first comes at a random point of it. Defaults to 25 s
	PongWait     time.Duration // silence after which a member is closed with CodeNoPong. Defaults to 60 s

	// OnOpen is called when a room gets its first member, OnEmpty when the last one has left. The calls come one at a
	// time, in the order of the events. They must be quick, and must not call Join or Leave.
	OnOpen, OnEmpty func(*Room)

	// Guest reports whether Room.Guests counts a user. Nil: it counts none.
	Guest func(user string) bool

	Log        *slog.Logger          // nil: slog.Default
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

func (o Options) withDefaults() Options {
	positive(&o.ResultsMax, 256)
	positive(&o.RainMax, 8)
	positive(&o.WriteTimeout, 5*time.Second)
	positive(&o.PingEvery, 25*time.Second)
	positive(&o.PongWait, 60*time.Second)
	if o.OnOpen == nil {
		o.OnOpen = func(*Room) {}
	}
	if o.OnEmpty == nil {
		o.OnEmpty = func(*Room) {}
	}
	if o.Guest == nil {
		o.Guest = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func positive[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
