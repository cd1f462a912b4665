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
	dead       prometheus.Gauge

	mu   *sync.Mutex
	last map[string]rain.Money // differences found last, by campaign; those of 0 are left out
}

func newLedgerGauges() ledgerGauges {
	return ledgerGauges{
		difference: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_reconcile_difference",
			Help: "Sum over all campaigns of what the last reconciliation could not account for, in minor units. Anything but 0 is an alarm.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_dead_letters",
			Help: "Payouts that could not be posted and wait for an operator.",
		}),
		mu:   &sync.Mutex{},
		last: map[string]rain.Money{},
	}
}

func (g ledgerGauges) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(g.difference), r.Register(g.dead))
}

// reconciled notes a campaign's difference, of either sign.
func (g ledgerGauges) reconciled(campaign string, difference rain.Money) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if difference == 0 {
		delete(g.last, campaign)
	} else {
		g.last[campaign] = difference
	}
	total := 0.0
	for _, d := range g.last {
		total += max(float64(d), -float64(d))
	}
	g.difference.Set(total)
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
