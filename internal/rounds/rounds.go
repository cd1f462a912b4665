// Package rounds is the old name of package loop, until its last users have moved there.
package rounds

import (
	"context"
	"time"

	"redrain/internal/loop"
)

// Guard is a [loop.Recoverer].
type Guard = loop.Recoverer

// The parts of package loop by their old names.
var (
	NewGuard = loop.NewRecoverer
	ErrPanic = loop.ErrPanic
	Backoff  = loop.Backoff
	Sleep    = loop.Sleep
	Graceful = loop.Graceful
)

// Every calls do at once, and then again in each period, until ctx ends.
func Every(ctx context.Context, period time.Duration, do func(context.Context)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
