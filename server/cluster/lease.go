package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"redrain/internal/rounds"
)

// Leases say which node does what one of them is to do at a time. [ledger.Leases] does.
type Leases interface {
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error)
	ReleaseLease(ctx context.Context, name, holder string) error
}

// LeaseOptions are the settings of a Lease.
type LeaseOptions struct {
	Leases Leases
	Name   string
	Part   string // who works under it, for the guard
	Node   string
	TTL    time.Duration // how long a node that has died keeps the others from the work
	Renew  time.Duration // how often who has the lease renews it
	Guard  *rounds.Guard
	Log    *slog.Logger
}

// Lease is the right of one node at a time to do something. It saves work and guards nothing: what is done under it may
// be done twice.
type Lease struct{ o LeaseOptions }

// NewLease makes a lease, which nobody has taken yet.
func NewLease(o LeaseOptions) *Lease { return &Lease{o} }

// Take takes the lease, or renews it. Held is false with an error.
func (l *Lease) Take(ctx context.Context) (held bool, err error) {
	err = l.o.Guard.Try(l.o.Part, func() (err error) {
		held, err = l.o.Leases.Lease(ctx, l.o.Name, l.o.Node, l.o.TTL)
		return err
	})
	return held && err == nil, err
}

// Release lets another node go on at once; ctx may have ended.
func (l *Lease) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := l.o.Leases.ReleaseLease(ctx, l.o.Name, l.o.Node); err != nil {
		l.o.Log.Debug("a lease ends by its time", "lease", l.o.Name, "err", err)
	}
}

// Under does some work if this node has the lease or gets it, and renews it meanwhile. The work's context ends when the
// lease is lost.
func (l *Lease) Under(ctx context.Context, do func(context.Context) error) error {
	if held, err := l.Take(ctx); !held {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.Keep(work, cancel) })
	defer renewing.Wait()
	defer cancel() // first: also where do panics, nobody renews the lease any more
	err := do(work)
	if work.Err() != nil && ctx.Err() == nil {
		return nil // Keep has said it; another node goes on
	}
	return err
}

// Keep renews the lease, and ends the work when it is lost.
func (l *Lease) Keep(ctx context.Context, lost context.CancelFunc) {
	tick := time.NewTicker(l.o.Renew)
	defer tick.Stop()
	until := time.Now().Add(l.o.TTL)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := time.Now()
		held, err := l.Take(ctx)
		if held {
			until = before.Add(l.o.TTL)
		} else if err == nil || time.Now().After(until) {
			l.o.Log.Warn("another node goes on", "lease", l.o.Name, "err", err)
			lost()
			return
		}
	}
}
