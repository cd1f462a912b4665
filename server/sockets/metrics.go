package sockets

import "github.com/prometheus/client_golang/prometheus"

// kind is what a connection does.
type kind int

const (
	kindNone kind = iota // it is closed
	kindNew              // it has not sent a whole request yet
	kindRequest
	kindIdle // it has, and waits for the next
	kindWebSocket
	kindCount
)

var kindNames = [kindCount]string{kindNew: "new", kindRequest: "request", kindIdle: "idle", kindWebSocket: "websocket"}

// Why a connection or a request is refused.
const (
	refusedAddress = iota
	refusedFull
	refusedCount
)

var refusedNames = [refusedCount]string{"address", "descriptors"}

// Why a connection is given up.
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
		Name: "redrain_open_sockets", Help: "Open connections of the address that players use, by what they do.",
	}, []string{"kind"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_sockets_refused_total",
		Help: "Connections and requests that were refused because their address had too many, or the process.",
	}, []string{"reason"})
	cut := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_sockets_cut_total", Help: "Connections that were given up because they stood still, by where.",
	}, []string{"reason"})
	m := &metrics{}
	// Each from the start, so that a dashboard shows zeros and not gaps.
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
