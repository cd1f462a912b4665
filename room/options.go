package room

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
)

// Options of a Lobby. The zero value is ready to use: zero or less means the default of each field.
type Options struct {
	ResultsMax   int           // messages that may wait in a member's results lane (256); one more closes the member
	RainMax      int           // messages that may wait in a member's rain lane (8); one more drops the oldest
	WriteTimeout time.Duration // how long one write, or all of CloseAfterFlush, may take (5 s)
	PingEvery    time.Duration // between two pings to a member (25 s); the first comes at a random point of it
	PongWait     time.Duration // after so long without a sign of life a member is closed with CodeNoPong (60 s)

	// OnOpen is called when the first member has come into a campaign's room, OnEmpty when the last one has left.
	// The calls come one at a time, in the order in which it happened. They must be quick, and must not call Join
	// or Leave.
	OnOpen, OnEmpty func(*Room)

	// Guest tells whose connections Room.Guests counts. Nil: nobody's.
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
