// Package outage keeps a log readable while something is down.
package outage

import (
	"log/slog"
	"sync"
	"time"
)

// Outage turns the flood of errors of something that is down into two log lines, and one each half minute between
// them. Set What and Log before the first use; it is safe for concurrent use.
type Outage struct {
	What string // what is being done: "publishing to JetStream"
	Log  *slog.Logger

	mu    sync.Mutex
	since time.Time // zero: it works
	said  time.Time
}

// repeatEvery is how often a lasting outage is logged again.
const repeatEvery = 30 * time.Second

// Failed notes an error.
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
