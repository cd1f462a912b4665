package payout

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a growing pause: from first, doubled each time, up to most; half of it is by chance, so that many who
// failed together do not come back together. try counts from 0.
func backoff(first, most time.Duration, try int) time.Duration {
	d := most
	if try < 30 {
		d = min(first<<try, most)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads load, keeps no secret
}

// sleep waits, or less if ctx ends; it tells whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// every calls do at once, and then again in each period, until ctx ends.
func every(ctx context.Context, period time.Duration, do func(context.Context)) {
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

// graceful is a context that ends a while after its parent, for work that must not be torn in the middle.
func graceful(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		sleep(ctx, grace)
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}
