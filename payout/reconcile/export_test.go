package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ledgerchain "redrain/payout/ledger/chain"
)

// What the tests of this package reach into.
const MaxFindings = maxFindings

// SetStretch changes how many rows one statement adds up.
func (s *Reconciler) SetStretch(n int) { s.stretch = n }

// SetHotLimit changes how long Redis may take.
func (s *Reconciler) SetHotLimit(d time.Duration) { s.hotLimit = d }

// DifferenceGauge is the metric of the difference.
func (s *Reconciler) DifferenceGauge() prometheus.Gauge { return s.gauge.difference }

// SetMany changes from how many entries on the sum of an account is carried forward.
func (s *Reconciler) SetMany(n int64) { s.many = n }

// SetTurn changes how many things of each kind have their turn in one proof.
func (s *Reconciler) SetTurn(n int) { s.turn = n }

// SetRecent changes how many links one step of a proof of what is recent reads, how many rows a checkpoint closes,
// and up
// to how many links everything is read.
func (s *Reconciler) SetRecent(step, period, small int64) {
	s.step, s.period, s.small = step, period, small
}

// Forget makes it that of a process that has seen nothing of the chains yet.
func (s *Reconciler) Forget() { s.seen = ledgerchain.Seen{} }

// Like gives it the settings of another.
func (s *Reconciler) Like(o *Reconciler) {
	s.step, s.period, s.many, s.turn, s.small = o.step, o.period, o.many, o.turn, o.small
}
