package reconcile

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/rain"
)

// reconcileGauges are the figures of what reconciliations have found.
type reconcileGauges struct {
	difference prometheus.Gauge
	findings   prometheus.Gauge

	mu   *sync.Mutex
	last map[string]fault // found last, by campaign; "" is the books as a whole
}

// fault is what a reconciliation has found wrong.
type fault struct {
	difference rain.Money
	findings   int
}

func newReconcileGauges() reconcileGauges {
	return reconcileGauges{
		difference: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_difference",
			Help: "Sum over all campaigns of what the last reconciliation could not account for, in minor units. " +
				"Anything but 0 is an alarm.",
		}),
		findings: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_findings",
			Help: "Faults named by the last reconciliations. Anything but 0 is an alarm.",
		}),
		mu:   &sync.Mutex{},
		last: map[string]fault{},
	}
}

func (g reconcileGauges) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(g.difference), r.Register(g.findings))
}

// reconciled notes what was found of a campaign, a difference of either sign.
func (g reconcileGauges) reconciled(campaign string, r Reconciliation) {
	g.note(campaign, fault{r.Difference, len(r.Findings)})
}

func (g reconcileGauges) note(what string, f fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f == (fault{}) {
		delete(g.last, what)
	} else {
		g.last[what] = f
	}
	g.show()
}

// forget is for a node that does not reconcile any more: another has the figures.
func (g reconcileGauges) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.last)
	g.show()
}

func (g reconcileGauges) show() {
	difference, findings := 0.0, 0.0
	for _, f := range g.last {
		difference += float64(abs(f.difference))
		findings += float64(f.findings)
	}
	g.difference.Set(difference)
	g.findings.Set(findings)
}
