package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

// unpaidMost is the age of an unpaid win that raises the alarm.
const unpaidMost = 30 * time.Second

// atOnce is the number of campaigns whose outboxes are read at the same time.
const atOnce = 8

// UnpaidOptions are the options of Unpaid. All are required unless stated otherwise.
type UnpaidOptions struct {
	Live func() []*rain.Campaign // the campaigns that may have unpaid wins
	// Outbox returns the time of the oldest win in a campaign's outboxes, Unix ms; 0: none. With an error it is that
	// of the shards that answered.
	Outbox func(ctx context.Context, c *rain.Campaign) (int64, error)
	// Stream returns the time of the oldest unsettled message of the stream, Unix ms; 0: none.
	Stream     func(ctx context.Context) (int64, error)
	Clock      rain.Clock
	Registerer prometheus.Registerer // nil: no metrics
}

// Unpaid follows the oldest win that is decided and not in the ledger. A win is in its outbox from the decision until
// the ledger has it. The stream is read too: it has the wins of a Redis that was lost.
//
// While an outbox cannot be read, every win since the last reading may be unpaid. So that moment counts.
type Unpaid struct {
	o UnpaidOptions

	mu     sync.Mutex
	oldest int64 // Unix ms; 0: none
	readAt int64 // the last time that all outboxes were read, Unix ms
	reason error // why they could not be read the last time
}

// NewUnpaid returns an Unpaid. A Monitor reads it.
func NewUnpaid(o UnpaidOptions) *Unpaid {
	u := &Unpaid{o: o, readAt: o.Clock()}
	promauto.With(o.Registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "redrain_oldest_unpaid_seconds", Help: "Age of the oldest win that is decided and not in the ledger, " +
			"over all live campaigns; 0 without one. It rises while Redis cannot be read.",
	}, func() float64 { age, _ := u.age(); return age.Seconds() })
	return u
}

// read reads the outboxes and the stream. A stream that cannot be read is an error, but leaves the result of the
// outboxes valid.
func (u *Unpaid) read(ctx context.Context) error {
	now := u.o.Clock()
	var mu sync.Mutex
	var oldest int64
	var failed error
	var reading errgroup.Group
	reading.SetLimit(atOnce)
	for _, c := range u.o.Live() {
		reading.Go(func() error {
			at, err := u.o.Outbox(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			oldest = earlier(oldest, at)
			if failed == nil {
				failed = err // of many campaigns, one is enough
			}
			return nil
		})
	}
	_ = reading.Wait() // they return none
	at, err := u.o.Stream(ctx)
	oldest = earlier(oldest, at)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // the process ends
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reason = failed
	if failed == nil {
		u.oldest, u.readAt = oldest, now
	} else {
		u.oldest = earlier(oldest, earlier(u.oldest, u.readAt))
	}
	return errors.Join(failed, err)
}

// earlier returns the earlier of two times; 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// age returns the age of the oldest unpaid win, and why it could not be read the last time.
func (u *Unpaid) age() (time.Duration, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.oldest == 0 {
		return 0, u.reason
	}
	return max(0, time.Duration(u.o.Clock()-u.oldest)*time.Millisecond), u.reason
}

// alarm returns the text of the alarm; "" if there is none.
func (u *Unpaid) alarm() string {
	age, reason := u.age()
	switch {
	case age <= unpaidMost:
		return ""
	case reason != nil:
		return fmt.Sprintf("wins of up to %s ago may not be in the ledger: their outboxes cannot be read: %v",
			age.Round(time.Second), reason)
	}
	return fmt.Sprintf("a win of %s ago is not in the ledger; the alarm backend_down or the log (\"post to the "+
		"ledger\", \"publish\") has the reason. It is paid when that is repaired", age.Round(time.Second))
}
