package admission

import "github.com/prometheus/client_golang/prometheus"

// capsMetrics is what Caps count.
type capsMetrics struct {
	wins, seats prometheus.Counter
	known       prometheus.Gauge
}

func newCapsMetrics(reg prometheus.Registerer) *capsMetrics {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_address_refusals_total",
		Help: "What guests were refused because their address has as much as it may: wins (taps), " +
			"seats (hellos and joins).",
	}, []string{"of"})
	m := &capsMetrics{
		wins: refused.WithLabelValues("wins"), seats: refused.WithLabelValues("seats"),
		known: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_guest_addresses", Help: "Addresses of guests in each campaign that this node counts.",
		}),
	}
	reg.MustRegister(refused, m.known)
	return m
}
