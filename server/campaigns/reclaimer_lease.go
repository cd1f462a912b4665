package campaigns

import (
	"context"
	"sync"
	"time"
)

// turn works through everything that is due, if this node has the lease or gets it.
func (r *Reclaimer) turn(ctx context.Context) error {
	held, err := r.o.Leases.Lease(ctx, reclaimLeaseName, r.o.Node, reclaimLease)
	if err != nil || !held {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { r.renew(work, cancel) })
	defer renewing.Wait()
	defer cancel() // first: also where sweep panics, nobody renews the lease any more
	err = r.sweep(work)
	lost := work.Err() != nil
	if lost && ctx.Err() == nil {
		return nil // renew has said it; another node goes on
	}
	return err
}

// renew keeps the lease, and ends the work when it is lost.
func (r *Reclaimer) renew(ctx context.Context, lost context.CancelFunc) {
	tick := time.NewTicker(reclaimRenew)
	defer tick.Stop()
	until := time.Now().Add(reclaimLease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := time.Now()
		held, err := false, errPanic
		r.o.Guard.Do("reclaimer", func() {
			held, err = r.o.Leases.Lease(ctx, reclaimLeaseName, r.o.Node, reclaimLease)
		})
		if err == nil && held {
			until = before.Add(reclaimLease)
			continue
		}
		if err == nil || time.Now().After(until) {
			r.o.Log.Warn("another node goes on with the campaigns that are due", "err", err)
			lost()
			return
		}
	}
}

// release lets another node go on at once.
func (r *Reclaimer) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := r.o.Leases.ReleaseLease(ctx, reclaimLeaseName, r.o.Node); err != nil {
		r.o.Log.Debug("the lease ends by its time", "err", err)
	}
}
