package campaigns

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

// lease is the right of one node at a time to do something. It saves work and guards nothing: what is done under it may
// be done twice.
type lease struct {
	leases Leases
	name   string
	part   string // who works under it, for the guard
	node   string
	ttl    time.Duration // how long a node that has died keeps the others from the work
	renew  time.Duration // how often who has the lease renews it
	guard  *rounds.Guard
	log    *slog.Logger
}

// take takes the lease, or renews it. Held is false with an error.
func (l *lease) take(ctx context.Context) (held bool, err error) {
	err = l.guard.Try(l.part, func() (err error) {
		held, err = l.leases.Lease(ctx, l.name, l.node, l.ttl)
		return err
	})
	return held && err == nil, err
}

// release lets another node go on at once; ctx may have ended.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := l.leases.ReleaseLease(ctx, l.name, l.node); err != nil {
		l.log.Debug("a lease ends by its time", "lease", l.name, "err", err)
	}
}

// under does some work if this node has the lease or gets it, and renews it meanwhile. The work's context ends when the
// lease is lost.
func (l *lease) under(ctx context.Context, do func(context.Context) error) error {
	if held, err := l.take(ctx); !held {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.keep(work, cancel) })
	defer renewing.Wait()
	defer cancel() // first: also where do panics, nobody renews the lease any more
	err := do(work)
	if work.Err() != nil && ctx.Err() == nil {
		return nil // keep has said it; another node goes on
	}
	return err
}

// keep renews the lease, and ends the work when it is lost.
func (l *lease) keep(ctx context.Context, lost context.CancelFunc) {
	tick := time.NewTicker(l.renew)
	defer tick.Stop()
	until := time.Now().Add(l.ttl)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := time.Now()
		held, err := l.take(ctx)
		if held {
			until = before.Add(l.ttl)
		} else if err == nil || time.Now().After(until) {
			l.log.Warn("another node goes on", "lease", l.name, "err", err)
			lost()
			return
		}
	}
}
