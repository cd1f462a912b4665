package loop

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff returns a growing pause: first, doubled with each try, up to most. Half of it is random, so that clients that
// failed together do not return together. try counts from 0.
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

// Graceful returns a context that ends some time after its parent, for work that must not be cut off in the middle.
func Graceful(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		Sleep(ctx, grace)
		cancel()
	})
	return ctx, func() { stop(); cancel() }
}
