package room

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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
	// time, in the order of the events. They must be quick, and must not call Join or Leave. They are Open and Empty of
	// live.Schedule.
	OnOpen, OnEmpty func(*Room)

	// Guest reports whether Room.Guests counts a user. Nil: it counts none.
	Guest func(user string) bool

	Log        *slog.Logger          // nil: slog.Default
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

func (o Options) withDefaults() Options {
	o.ResultsMax = cmp.Or(max(o.ResultsMax, 0), 256)
	o.RainMax = cmp.Or(max(o.RainMax, 0), 8)
	o.WriteTimeout = cmp.Or(max(o.WriteTimeout, 0), 5*time.Second)
	o.PingEvery = cmp.Or(max(o.PingEvery, 0), 25*time.Second)
	o.PongWait = cmp.Or(max(o.PongWait, 0), time.Minute)
	if o.OnOpen == nil {
		o.OnOpen = func(*Room) {}
	}
	if o.OnEmpty == nil {
		o.OnEmpty = func(*Room) {}
	}
	if o.Guest == nil {
		o.Guest = func(string) bool { return false }
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

type metrics struct {
	connections prometheus.Gauge
	frames      prometheus.Counter
	dropped     [laneCount]prometheus.Counter
	slow        prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	dropped := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_fanout_dropped_total",
		Help: "Messages that a member did not get because it reads too slowly. Those of the lane \"results\" were " +
			"lost with the connection.",
	}, []string{"lane"})
	return &metrics{
		connections: factory.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_connections", Help: "WebSocket connections that are open.",
		}),
		frames: factory.NewCounter(prometheus.CounterOpts{
			Name: "redrain_fanout_frames_total", Help: "Text frames written to members.",
		}),
		dropped: [laneCount]prometheus.Counter{
			Results: dropped.WithLabelValues("results"),
			Rain:    dropped.WithLabelValues("rain"),
		},
		slow: factory.NewCounter(prometheus.CounterOpts{
			Name: "redrain_slow_disconnects_total", Help: "Members that were closed because they read too slowly.",
		}),
	}
}
