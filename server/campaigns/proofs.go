package campaigns

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
	"redrain/rain"
	"redrain/server/cluster"
)

const (
	reconcileLease = "reconcile"
	leaseTTL       = 30 * time.Second
	leaseRenew     = 10 * time.Second
	// unprovedRounds is after how many rounds of the schedule without a proof an alarm is raised: a campaign that
	// cannot be read may hide a fault.
	unprovedRounds = 3
	// reconcileAtOnce is how many operators may have one campaign's rows checked at the same time. Each takes as
	// much memory as the campaign's split.
	reconcileAtOnce = 2
)

// Books reconciles the books. [reconcile.Reconciler] does.
type Books interface {
	ReconcileWith(ctx context.Context, id string, hot reconcile.Hot,
		depth reconcile.Depth) (reconcile.Reconciliation, error)
	ReconcileFull(ctx context.Context, hot reconcile.Hot, o reconcile.FullOptions) (reconcile.Books, error)
	ForgetReconciliations()
}

// LiveCampaigns lists the campaigns that may still have something in Redis. [ledger.Campaigns] does.
type LiveCampaigns interface {
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// ProvedCampaigns lists the ids of the campaigns that are to be proved, also of those whose rows make no sense.
// [ledger.Campaigns] does.
type ProvedCampaigns interface {
	LiveIDs(ctx context.Context) ([]string, error)
}

// Proofs reconciles the books on a schedule, on the node that has the lease, and for operators who ask: the sums of
// live campaigns in each round, every row of a campaign once it is drained, and every row of all books each night. It
// changes nothing: its findings are for a person.
type Proofs struct {
	o     ProofsOptions
	lease *cluster.Lease

	campaigns chan struct{} // a slot for each operator who has one campaign reconciled
	holds     atomic.Bool   // whether this node has the lease

	mu     sync.Mutex
	faulty map[string]string       // campaign → fingerprint of what was found last; "" is all books
	missed map[string]missed       // campaign → since it was proved last, if it cannot be
	proved map[string]ledger.Proof // campaign → what has been proved and is not noted yet
	busy   bool                    // a full reconciliation is running
	full   int64                   // when this node has made the last one, Unix ms

	*proofAge
}

// ProofsOptions of proofs. All are needed but those that say so.
type ProofsOptions struct {
	Books     Books
	Campaigns ProvedCampaigns
	Kept      KeptProofs // nil: nobody is told when the books were proved, and drained campaigns wait for the night
	Leases    cluster.Leases
	Hot       reconcile.Hot
	Node      string        // this node's name in the lease
	Every     time.Duration // between two rounds; only Run needs it
	Share     float64       // of the time that the nightly reconciliation may take; 0: there is none
	Alarm     func(code, campaign, message string)
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock      // nil: that of this process
	Log       *slog.Logger
}

// NewProofs makes the proofs. Who asks gets one at once; Run makes those of the schedule.
func NewProofs(o ProofsOptions) *Proofs {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	return &Proofs{
		o: o, campaigns: make(chan struct{}, reconcileAtOnce),
		faulty: map[string]string{}, missed: map[string]missed{}, proved: map[string]ledger.Proof{},
		proofAge: newProofAge(o.Log),
		lease: cluster.NewLease(cluster.LeaseOptions{Leases: o.Leases, Name: reconcileLease, Part: "reconciliation",
			Node: o.Node, TTL: leaseTTL, Renew: leaseRenew, Recoverer: o.Recoverer, Alarm: o.Alarm,
			Log: o.Log}),
	}
}

// Campaign proves one campaign, for somebody who asks.
func (r *Proofs) Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error) {
	if err := enter(ctx, r.campaigns); err != nil {
		return reconcile.Reconciliation{}, err
	}
	defer func() { <-r.campaigns }()
	defer r.clearGauges()
	return r.o.Books.ReconcileWith(ctx, id, r.o.Hot, reconcile.Rows)
}

// clearGauges forgets what an operator's run has found, on a node without the lease: no round there clears it.
func (r *Proofs) clearGauges() {
	if !r.holds.Load() {
		r.o.Books.ForgetReconciliations()
	}
}

func enter(ctx context.Context, door chan struct{}) error {
	select {
	case door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run reconciles the books until ctx ends, as long as this node has the lease. Each node checks when they were
// reconciled last.
func (r *Proofs) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { r.keepLease(ctx) })
	defer beside.Wait()
	proving := loop.FailureLog{Work: "the scheduled reconciliation", Log: r.o.Log}
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for had := false; ; {
		r.o.Recoverer.Do("reconciliation", func() { r.lookAtAge(ctx) })
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		holds := r.holds.Load()
		if had && !holds {
			r.o.Recoverer.Do("reconciliation", r.rest)
		}
		if had = holds; !holds {
			continue
		}
		proving.Record(ctx, r.o.Recoverer.Try("reconciliation", func() error { return r.round(ctx) }))
		if r.isFullDue() {
			r.beginFull(ctx, &beside)
		}
	}
}

// rest forgets what this node has proved, when another has the lease. It does not repeat alarms later.
func (r *Proofs) rest() {
	r.mu.Lock()
	clear(r.missed)
	clear(r.proved)
	r.mu.Unlock()
	r.o.Books.ForgetReconciliations()
}

// keepLease takes the lease when it is free, renews it, and gives it back in the end.
func (r *Proofs) keepLease(ctx context.Context) {
	_ = loop.Run(ctx, loop.Spec{Part: "reconciliation", Work: "taking the lease of the reconciliation",
		Every: leaseRenew, Recoverer: r.o.Recoverer, Log: r.o.Log, Do: func(ctx context.Context) error {
			held, err := r.lease.Take(ctx)
			r.holds.Store(held)
			return err
		}})
	r.lease.Release(ctx)
}
