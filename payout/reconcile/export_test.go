package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Constants for the tests of this package.
const MaxFindings = maxFindings

// SetStretch changes the number of rows that one statement sums.
func (s *Reconciler) SetStretch(n int) { s.stretch = n }

// SetHotLimit changes the time limit of Redis.
func (s *Reconciler) SetHotLimit(d time.Duration) { s.hotLimit = d }

// DifferenceGauge is the metric of the difference.
func (s *Reconciler) DifferenceGauge() prometheus.Collector { return s.gauge.difference }
