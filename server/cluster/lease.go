package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
)

// Leases grants leases to nodes. [ledger.Leases] implements it.
type Leases interface {
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (ledger.Tenure, error)
	UnderTerm(ctx context.Context, name string, term int64) context.Context
	ReleaseLease(ctx context.Context, name, holder string) error
}

// LeaseOptions are the settings of a Lease.
type LeaseOptions struct {
	Leases    Leases
	Name      string
	Part      string // the name of the work, for the recoverer
	Node      string
	TTL       time.Duration // life without a renewal, which comes each quarter of it
	Recoverer *loop.Recoverer
	// Alarm is called if a lease was dated so far ahead that no node could have taken it over.
	Alarm func(code, campaign, message string)
	Log   *slog.Logger
}

// Lease is the right of one node at a time to do some work. A node that was frozen may go on although another has the
// lease now. So effects on Redis, NATS and players may come twice; the ledger refuses the late ones.
type Lease struct{ o LeaseOptions }

// NewLease returns a lease that this node has not taken yet.
func NewLease(o LeaseOptions) *Lease { return &Lease{o} }

// Take takes the lease, or renews it. Held is false with an error.
func (l *Lease) Take(ctx context.Context) (held bool, err error) {
	term, err := l.take(ctx)
	return term > 0, err
}

// take takes or renews the lease. It returns the number of this node's term; 0 if another node has the lease.
func (l *Lease) take(ctx context.Context) (term int64, err error) {
	err = l.o.Recoverer.Try(l.o.Part, func() error {
		t, err := l.o.Leases.Lease(ctx, l.o.Name, l.o.Node, l.o.TTL)
		if err != nil {
			return err
		}
		if t.Displaced != "" {
			l.o.Alarm("lease_dated", "", "the lease \""+l.o.Name+"\" of node "+t.Displaced+" was dated into "+
				"the future, by hand or by a wrong clock; it was taken over: check the writers to the database, and "+
				"the nodes' clocks")
		}
		term = t.Term
		return nil
	})
	return term, err
}

// Release lets another node go on at once; ctx may have ended.
func (l *Lease) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := l.o.Leases.ReleaseLease(ctx, l.o.Name, l.o.Node); err != nil {
		l.o.Log.Debug("release a lease; it expires by itself", "lease", l.o.Name, "err", err)
	}
}

// Under runs do if this node has the lease or gets it, and renews it meanwhile. The context of do ends when the lease
// is lost. Transactions with that context fail once another node has the lease.
func (l *Lease) Under(ctx context.Context, do func(context.Context) error) error {
	term, err := l.take(ctx)
	if term == 0 {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.keep(work, term, cancel) })
	defer renewing.Wait()
	defer cancel() // first, so that a panic of do ends the renewal
	err = do(l.o.Leases.UnderTerm(work, l.o.Name, term))
	if work.Err() != nil && ctx.Err() == nil {
		return nil // keep has logged it; another node goes on
	}
	return err
}

// keep renews the lease of a term, and ends the work when it is lost.
func (l *Lease) keep(ctx context.Context, term int64, lost context.CancelFunc) {
	tick := time.NewTicker(l.o.TTL / 4) // three more tries before it ends
	defer tick.Stop()
	until := time.Now().Add(l.o.TTL)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := time.Now()
		is, err := l.take(ctx)
		if is == term {
			until = before.Add(l.o.TTL)
		} else if err == nil || time.Now().After(until) {
			l.o.Log.Warn("lost a lease; another node goes on", "lease", l.o.Name, "err", err)
			lost()
			return
		}
	}
}
