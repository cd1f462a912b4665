package reconcile

import "time"

// Constants for the tests of this package.
const MaxFindings = maxFindings

// SetStretch changes the number of rows that one statement sums.
func (s *Reconciler) SetStretch(n int) { s.stretch = n }

// SetLiveLimit changes the time limit of Redis.
func (s *Reconciler) SetLiveLimit(d time.Duration) { s.liveLimit = d }
