package admission

import "github.com/prometheus/client_golang/prometheus"

// doorMetrics is what a Door counts.
type doorMetrics struct {
	waiting, seated prometheus.Gauge
	admitted, told  prometheus.Counter
}

func newDoorMetrics(reg prometheus.Registerer) *doorMetrics {
	m := &doorMetrics{
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_waiting",
			Help: "Players in the waiting rooms of all campaigns, over all nodes: each node says the same.",
		}),
		seated: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_seated",
			Help: "Players with a seat where others may have to wait, over all nodes: each node says the same.",
		}),
		admitted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_admitted_total",
			Help: "Players that this node has let into a room where others may have to wait.",
		}),
		told: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_waiting_answers_total",
			Help: "Times that this node has told a player who waits their place.",
		}),
	}
	reg.MustRegister(m.waiting, m.seated, m.admitted, m.told)
	return m
}
