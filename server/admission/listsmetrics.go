package admission

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger/standing"
)

func newListsRefused(reg prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_list_refusals_total",
		Help: "Refused, by reason: not_invited (not on the campaign's list), denied (on a list of those who may not " +
			"take part).",
	}, []string{"reason"})
	for _, reason := range []string{"not_invited", "denied"} {
		c.WithLabelValues(reason)
	}
	reg.MustRegister(c)
	return c
}

// count counts a refusal.
func (l *Lists) count(why error) error {
	reason := "not_invited"
	if errors.Is(why, standing.ErrDenied) {
		reason = "denied"
	}
	l.refused.WithLabelValues(reason).Inc()
	return why
}
