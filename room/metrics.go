package room

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

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
