package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
)

// Leases say which node does what one of them is to do at a time. [ledger.Leases] does.
type Leases interface {
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (ledger.Tenure, error)
	Fenced(ctx context.Context, name string, term int64) context.Context
	ReleaseLease(ctx context.Context, name, holder string) error
}

// LeaseOptions are the settings of a Lease.
type LeaseOptions struct {
	Leases    Leases
	Name      string
	Part      string // who works under it, for the recoverer
	Node      string
	TTL       time.Duration // how long a dead node keeps the others from the work; it is renewed each quarter of that
	Recoverer *loop.Recoverer
	// Alarm hears of a lease that was dated so far ahead that it would have kept everybody from the work; nil = it is
	// logged only.
	Alarm func(code, campaign, message string)
	Log   *slog.Logger
}

// Lease is the right of one node at a time to do something. A node that was frozen may go on with what another has
// taken over, so what is done to Redis, NATS and players may be done twice; the ledger refuses it.
type Lease struct{ o LeaseOptions }

// NewLease makes a lease, which nobody has taken yet.
func NewLease(o LeaseOptions) *Lease { return &Lease{o} }

// Take takes the lease, or renews it. Held is false with an error.
func (l *Lease) Take(ctx context.Context) (held bool, err error) {
	term, err := l.take(ctx)
	return term > 0, err
}

// take is Take, and tells the number of this node's term; 0 where it is another's.
func (l *Lease) take(ctx context.Context) (term int64, err error) {
	err = l.o.Recoverer.Try(l.o.Part, func() error {
		t, err := l.o.Leases.Lease(ctx, l.o.Name, l.o.Node, l.o.TTL)
		if err != nil {
			return err
		}
		if t.Stray != "" {
			l.stray(t.Stray)
		}
		term = t.Term
		return nil
	})
	return term, err
}

// stray says that a lease was dated into the future.
func (l *Lease) stray(holder string) {
	l.o.Log.Error("a lease was dated into the future, by hand or by a wrong clock; it was taken over", "lease",
		l.o.Name, "holder", holder)
	if l.o.Alarm != nil {
		l.o.Alarm("lease_dated", "", "the lease \""+l.o.Name+"\" of node "+holder+" was dated into the future, by "+
			"hand or by a wrong clock; it was taken over: look who writes to the database, and at the nodes' clocks")
	}
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
// lease is lost, and with it the work changes nothing in the ledger once another node has the lease.
func (l *Lease) Under(ctx context.Context, do func(context.Context) error) error {
	term, err := l.take(ctx)
	if term == 0 {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.keep(work, term, cancel) })
	defer renewing.Wait()
	defer cancel() // first: also where do panics, nobody renews the lease any more
	err = do(l.o.Leases.Fenced(work, l.o.Name, term))
	if work.Err() != nil && ctx.Err() == nil {
		return nil // keep has said it; another node goes on
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
			l.o.Log.Warn("another node goes on", "lease", l.o.Name, "err", err)
			lost()
			return
		}
	}
}
