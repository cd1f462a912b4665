// Package health proves that the back ends work, and reports what this means for players.
//
// A [Check] does what this node needs of one back end: it writes as a win does, and leaves nothing. [Monitor] repeats
// the checks, and follows the oldest unpaid win ([Unpaid]). [Readiness] answers /readyz from the last results, so
// load balancers cost the back ends nothing.
//
//	m := health.NewMonitor(health.Options{Checks: checks, Essential: []string{"redis"}, Unpaid: unpaid, …})
//	go m.Run(ctx)
//	mux.Handle("/readyz", &health.Readiness{Monitor: m, …})
//
// A command runs the same checks once: see [Check.Ask].
package health
