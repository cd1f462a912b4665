// Package rounds is for parts of a process that do the same again and again until their context ends: the pause
// between two rounds, the pause after a failed one, the end of a round in hand, and what becomes of one that panics.
package rounds

import (
	"context"
	"math/rand/v2"
	"time"
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

// Backoff is a growing pause: first, doubled with each try, up to most. Half of it is random, so that many who
// failed together do not come back together. try counts from 0.
func Backoff(first, most time.Duration, try int) time.Duration {
	d := most
	if try < 30 {
		d = min(first<<try, most)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads load, keeps no secret
}

// Sleep waits for d, or less if ctx ends. It reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Graceful is a context that ends a while after its parent, for work that must not be cut off in the middle.
func Graceful(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		Sleep(ctx, grace)
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}
