// Package outage logs lasting failures without flooding the log.
package outage

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Outage logs one kind of work that may fail for a while: the first failure, one more each half minute, and the
// recovery. Set What and Log before the first use. It is safe for concurrent use.
type Outage struct {
	What string // names the work, as "publishing to JetStream"
	Log  *slog.Logger

	mu    sync.Mutex
	since time.Time // when the outage began; zero while the work succeeds
	said  time.Time // when a failure was last logged
}

// repeatEvery is how often a lasting outage is logged again.
const repeatEvery = 30 * time.Second

// Failed notes a failure.
func (o *Outage) Failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	if now.Sub(o.said) >= repeatEvery {
		o.said = now
		o.Log.Warn("failing; tried again until it works", "what", o.What, "err", err)
	}
}

// Works notes a success.
func (o *Outage) Works() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	o.Log.Info("works again", "what", o.What, "after", time.Since(o.since).Round(time.Millisecond).String())
	o.since, o.said = time.Time{}, time.Time{}
}

// Ended notes how work has ended: with a failure, unless that is the end of its context, or well.
func (o *Outage) Ended(ctx context.Context, err error) {
	switch {
	case err == nil:
		o.Works()
	case ctx.Err() == nil:
		o.Failed(err)
	}
}
