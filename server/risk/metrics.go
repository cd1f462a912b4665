package risk

import (
	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger/standing"
)

type metrics struct {
	judgements *prometheus.CounterVec
	reasons    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		judgements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_judgements_total",
			Help: "Looks at a player who has tapped, by what the rules said of them.",
		}, []string{"verdict"}),
		reasons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_reasons_total", Help: "How often each rule has spoken against somebody.",
		}, []string{"rule"}),
	}
	for _, v := range []standing.VerdictAct{standing.Allow, standing.Hold, standing.Deny} {
		m.judgements.WithLabelValues(string(v))
	}
	for _, r := range Rules {
		m.reasons.WithLabelValues(r.Name)
	}
	reg.MustRegister(m.judgements, m.reasons)
	return m
}

func (m *metrics) judged(j Judgement) {
	m.judgements.WithLabelValues(string(j.Act)).Inc()
	for _, r := range j.Reasons {
		m.reasons.WithLabelValues(r.Rule).Inc()
	}
}
