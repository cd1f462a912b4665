package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What the tests of this package reach into.
const MaxFindings = maxFindings

// SetStretch changes how many rows one statement adds up.
func (s *Reconciler) SetStretch(n int) { s.stretch = n }

// SetHotLimit changes how long Redis may take.
func (s *Reconciler) SetHotLimit(d time.Duration) { s.hotLimit = d }

// DifferenceGauge is the metric of the difference.
func (s *Reconciler) DifferenceGauge() prometheus.Gauge { return s.gauge.difference }
