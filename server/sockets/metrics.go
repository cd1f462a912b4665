package sockets

import "github.com/prometheus/client_golang/prometheus"

// kind is a connection's work.
type kind string

const (
	kindNone      kind = ""    // it is closed
	kindNew       kind = "new" // it has not sent a complete request yet
	kindRequest   kind = "request"
	kindIdle      kind = "idle" // it waits between two requests
	kindWebSocket kind = "websocket"
)

// Reasons for refusing a connection or a request.
const refusedAddress, refusedFull = "address", "descriptors"

// Reasons for closing a connection.
const cutIdle, cutBody, cutReader, cutRoom = "idle", "slow_body", "slow_reader", "descriptors"

type metrics struct {
	open         *prometheus.GaugeVec
	refused, cut *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redrain_open_sockets", Help: "Open connections of the players' address, by their work.",
		}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_sockets_refused_total",
			Help: "Connections and requests refused because their address, or the process, had too many.",
		}, []string{"reason"}),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_sockets_cut_total", Help: "Connections closed because they stood still, by the place.",
		}, []string{"reason"}),
	}
	// Every label from the start, so that a dashboard shows zeros and not gaps.
	for _, k := range []kind{kindNew, kindRequest, kindIdle, kindWebSocket} {
		m.open.WithLabelValues(string(k))
	}
	for _, reason := range []string{refusedAddress, refusedFull} {
		m.refused.WithLabelValues(reason)
	}
	for _, reason := range []string{cutIdle, cutBody, cutReader, cutRoom} {
		m.cut.WithLabelValues(reason)
	}
	reg.MustRegister(m.open, m.refused, m.cut)
	return m
}
