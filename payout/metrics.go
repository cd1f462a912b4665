package payout

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/rain"
)

// ledgerGauges are the figures that only the ledger knows.
type ledgerGauges struct {
	difference prometheus.Gauge
	findings   prometheus.Gauge
	dead       prometheus.Gauge

	mu   *sync.Mutex
	last map[string]fault // found last, by campaign; "" is the books as a whole
}

// fault is what a reconciliation has found wrong.
type fault struct {
	difference rain.Money
	findings   int
}

func newLedgerGauges() ledgerGauges {
	return ledgerGauges{
		difference: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_difference",
			Help: "Sum over all campaigns of what the last reconciliation could not account for, in minor units. Anything but 0 is an alarm.",
		}),
		findings: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_findings",
			Help: "Faults named by the last reconciliations. Anything but 0 is an alarm.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_dead_letters",
			Help: "Payouts that could not be posted and wait for an operator.",
		}),
		mu:   &sync.Mutex{},
		last: map[string]fault{},
	}
}

func (g ledgerGauges) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(g.difference), r.Register(g.findings), r.Register(g.dead))
}

// reconciled notes what was found of a campaign, a difference of either sign.
func (g ledgerGauges) reconciled(campaign string, r Reconciliation) {
	g.note(campaign, fault{r.Difference, len(r.Findings)})
}

func (g ledgerGauges) note(what string, f fault) {
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
func (g ledgerGauges) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.last)
	g.show()
}

func (g ledgerGauges) show() {
	difference, findings := 0.0, 0.0
	for _, f := range g.last {
		difference += float64(abs(f.difference))
		findings += float64(f.findings)
	}
	g.difference.Set(difference)
	g.findings.Set(findings)
}

// register adds a collector where there is a registry.
func register(r prometheus.Registerer, collectors ...prometheus.Collector) error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, c := range collectors {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}
