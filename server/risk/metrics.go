package risk

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/payout/ledger/standing"
)

type metrics struct {
	judgements *prometheus.CounterVec
	reasons    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		judgements: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_judgements_total",
			Help: "Judgements of players who have tapped, by verdict.",
		}, []string{"verdict"}),
		reasons: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_reasons_total", Help: "Findings of each rule against players.",
		}, []string{"rule"}),
	}
	for _, v := range []standing.VerdictAct{standing.Allow, standing.Hold, standing.Deny} {
		m.judgements.WithLabelValues(string(v))
	}
	for _, r := range Rules {
		m.reasons.WithLabelValues(r.Name)
	}
	return m
}

func (m *metrics) judged(j Judgement) {
	m.judgements.WithLabelValues(string(j.Act)).Inc()
	for _, r := range j.Reasons {
		m.reasons.WithLabelValues(r.Rule).Inc()
	}
}
