package reconcile

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/rain"
)

// reconcileGauges are the metrics of reconciliations.
type reconcileGauges struct {
	difference prometheus.Gauge
	findings   prometheus.Gauge

	mu   sync.Mutex
	last map[string]fault // the last result by campaign; "" is the ledger itself
}

// fault is the result of a reconciliation.
type fault struct {
	difference rain.Money // of either sign
	findings   int
}

func newReconcileGauges() *reconcileGauges {
	return &reconcileGauges{
		difference: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_difference",
			Help: "Sum over all campaigns of what the last reconciliation could not account for, in minor units. " +
				"Anything but 0 is an alarm.",
		}),
		findings: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_findings",
			Help: "Faults named by the last reconciliations. Anything but 0 is an alarm.",
		}),
		last: map[string]fault{},
	}
}

// note stores the result of a campaign.
func (g *reconcileGauges) note(campaign string, f fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last[campaign] = f; f == (fault{}) {
		delete(g.last, campaign)
	}
	g.show()
}

func (g *reconcileGauges) show() {
	difference, findings := 0.0, 0.0
	for _, f := range g.last {
		difference += float64(abs(f.difference))
		findings += float64(f.findings)
	}
	g.difference.Set(difference)
	g.findings.Set(findings)
}

// Register adds the metrics redrain_reconcile_difference and redrain_reconcile_findings.
func (s *Reconciler) Register(r prometheus.Registerer) error {
	return errors.Join(r.Register(s.gauge.difference), r.Register(s.gauge.findings))
}

// ForgetReconciliations sets the metrics to zero. It is for a node that has stopped reconciling because another one
// has begun.
func (s *Reconciler) ForgetReconciliations() {
	s.gauge.mu.Lock()
	defer s.gauge.mu.Unlock()
	clear(s.gauge.last)
	s.gauge.show()
}
