package loop

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// FailureLog logs one kind of work that may fail for a while: the first failure, one more each half minute, and the
// recovery. Set Work before the first use. It is safe for concurrent use.
type FailureLog struct {
	Work string       // names the work, such as "publish to JetStream"
	Log  *slog.Logger // nil: slog.Default

	mu     sync.Mutex
	since  time.Time // start of the outage; zero while the work succeeds
	logged time.Time // time of the last logged failure
}

// repeatEvery is the interval at which a lasting outage is logged again.
const repeatEvery = 30 * time.Second

// Failed records a failure.
func (f *FailureLog) Failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.since.IsZero() {
		f.since = now
	}
	if now.Sub(f.logged) >= repeatEvery {
		f.logged = now
		cmp.Or(f.Log, slog.Default()).Warn("failing; tried again until it works", "what", f.Work, "err", err)
	}
}

// Works records a success.
func (f *FailureLog) Works() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since.IsZero() {
		return
	}
	cmp.Or(f.Log, slog.Default()).Info("works again", "what", f.Work, "after",
		time.Since(f.since).Round(time.Millisecond).String())
	f.since, f.logged = time.Time{}, time.Time{}
}

// Record records the result of the work. A failure does not count if ctx has ended.
func (f *FailureLog) Record(ctx context.Context, err error) {
	switch {
	case err == nil:
		f.Works()
	case ctx.Err() == nil:
		f.Failed(err)
	}
}
