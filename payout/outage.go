package payout

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// outage turns the flood of errors of something that is down into two log lines, and one each half minute between them.
type outage struct {
	what string // "JetStream", "the outbox"
	log  *slog.Logger

	mu    sync.Mutex
	since time.Time // zero: it works
	said  time.Time
}

const repeatEvery = 30 * time.Second

// failed notes an error.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	if now.Sub(o.said) >= repeatEvery {
		o.said = now
		o.log.Warn("failing; tried again until it works", "what", o.what, "err", err)
	}
}

// works notes a success.
func (o *outage) works() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	o.log.Info("works again", "what", o.what, "after", time.Since(o.since).Round(time.Millisecond))
	o.since, o.said = time.Time{}, time.Time{}
}

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
