package sockets

import "github.com/prometheus/client_golang/prometheus"

// kind is a connection's work.
type kind int

const (
	kindNone kind = iota // it is closed
	kindNew              // it has not sent a complete request yet
	kindRequest
	kindIdle // it waits between two requests
	kindWebSocket
	kindCount
)

var kindNames = [kindCount]string{kindNew: "new", kindRequest: "request", kindIdle: "idle", kindWebSocket: "websocket"}

// Reasons for refusing a connection or a request.
const (
	refusedAddress = iota
	refusedFull
	refusedCount
)

var refusedNames = [refusedCount]string{"address", "descriptors"}

// Reasons for closing a connection.
const (
	cutIdle = iota
	cutBody
	cutReader
	cutRoom
	cutCount
)

var cutNames = [cutCount]string{"idle", "slow_body", "slow_reader", "descriptors"}

type metrics struct {
	open    [kindCount]prometheus.Gauge
	refused [refusedCount]prometheus.Counter
	cut     [cutCount]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "redrain_open_sockets", Help: "Open connections of the players' address, by their work.",
	}, []string{"kind"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_sockets_refused_total",
		Help: "Connections and requests refused because their address, or the process, had too many.",
	}, []string{"reason"})
	cut := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_sockets_cut_total", Help: "Connections closed because they stood still, by the place.",
	}, []string{"reason"})
	m := &metrics{}
	// Every label from the start, so that a dashboard shows zeros and not gaps.
	for k := kindNew; k < kindCount; k++ {
		m.open[k] = open.WithLabelValues(kindNames[k])
	}
	for i, name := range refusedNames {
		m.refused[i] = refused.WithLabelValues(name)
	}
	for i, name := range cutNames {
		m.cut[i] = cut.WithLabelValues(name)
	}
	reg.MustRegister(open, refused, cut)
	return m
}
