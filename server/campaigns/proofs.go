package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	// fullLease lets one operator at a time run a full reconciliation, because it reads everything.
	fullLease  = "reconcile-full"
	leaseTTL   = 30 * time.Second
	leaseRenew = leaseTTL / 4
	// reconcileAtOnce is the number of operators who may reconcile one campaign by row at the same time. Each takes as
	// much memory as the campaign's split.
	reconcileAtOnce = 2
)

// Books reconciles the books. [reconcile.Reconciler] implements it.
type Books interface {
	ReconcileWith(ctx context.Context, id string, hot reconcile.Hot,
		depth reconcile.Depth) (reconcile.Reconciliation, error)
	ReconcileFull(ctx context.Context, hot reconcile.Hot, o reconcile.FullOptions) (reconcile.Books, error)
	ForgetReconciliations()
}

// LiveCampaigns lists the campaigns that may still have data in Redis. [ledger.Campaigns] implements it.
type LiveCampaigns interface {
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// ProvedCampaigns lists the ids of the campaigns to be reconciled, including those with invalid rows.
// [ledger.Campaigns] implements it.
type ProvedCampaigns interface {
	LiveIDs(ctx context.Context) ([]string, error)
}

// Proofs reconciles the books on a schedule, on the node that has the lease, and for operators. Each round compares the
// sums of live campaigns. Every row of a campaign is checked once it is drained, and every row of all books each night.
// It changes nothing: its findings are for a person.
type Proofs struct {
	o     ProofsOptions
	lease *cluster.Lease

	campaigns chan struct{} // a slot for each operator who reconciles one campaign
	holds     atomic.Bool   // whether this node has the lease

	mu     sync.Mutex
	faulty map[string]string       // by campaign: fingerprint of the last findings; "" is all books
	proved map[string]ledger.Proof // by campaign: results that are not stored yet

	*proofAge
}

// ProofsOptions are the options of Proofs. All are required unless stated otherwise.
type ProofsOptions struct {
	Node

	Books     Books
	Campaigns ProvedCampaigns
	Kept      KeptProofs
	Hot       reconcile.Hot
	Every     time.Duration // interval of the rounds; only Run needs it
	Share     float64       // share of the time for the nightly reconciliation; 0: none
}

// NewProofs returns Proofs. Run runs the schedule; Campaign and Full work without it.
func NewProofs(o ProofsOptions) *Proofs {
	return &Proofs{o: o, campaigns: make(chan struct{}, reconcileAtOnce), faulty: map[string]string{},
		proved: map[string]ledger.Proof{}, proofAge: newProofAge(o.Registerer),
		lease: o.lease(reconcileLease, "reconciliation", leaseTTL)}
}

// Campaign reconciles one campaign, for an operator.
func (r *Proofs) Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error) {
	select {
	case r.campaigns <- struct{}{}:
	case <-ctx.Done():
		return reconcile.Reconciliation{}, ctx.Err()
	}
	defer func() { <-r.campaigns }()
	defer r.clearGauges()
	return r.o.Books.ReconcileWith(ctx, id, r.o.Hot, reconcile.Rows)
}

// clearGauges resets the gauges after an operator's run on a node without the lease, where no round resets them.
func (r *Proofs) clearGauges() {
	if !r.holds.Load() {
		r.o.Books.ForgetReconciliations()
	}
}

// ErrFullProof means that another full reconciliation is running.
var ErrFullProof = errors.New("another full proof is running; try again when it has ended")

// Full reconciles all books by every row, for an operator. One runs at a time in the cluster: the error is ErrFullProof
// if there is one already. progress may be nil.
func (r *Proofs) Full(ctx context.Context, progress func(reconcile.Progress)) (books reconcile.Books, err error) {
	began := false
	defer r.clearGauges()
	asked := r.o.Node
	asked.Name += " " + rand.Text()
	lease := asked.lease(fullLease, "reconciliation", leaseTTL)
	defer lease.Release(ctx)
	err = lease.Under(ctx, func(ctx context.Context) (err error) {
		began = true
		books, err = r.o.Books.ReconcileFull(ctx, r.o.Hot, reconcile.FullOptions{Progress: progress,
			Each: r.heedEach(ctx, new(error))})
		return err
	})
	switch {
	case err != nil:
		return reconcile.Books{}, err
	case !began:
		return reconcile.Books{}, ErrFullProof
	case books.CheckedAt == 0:
		return reconcile.Books{}, fmt.Errorf("%w: another node has taken over, because this one was too slow to renew "+
			"its lease", ErrFullProof)
	}
	return books, r.keepFull(ctx, books)
}

// Run reconciles the books while this node has the lease, until ctx ends. Each node checks the age of the last
// reconciliation.
func (r *Proofs) Run(ctx context.Context) error {
	check := r.spec("read the time of the last reconciliation", r.lookAtAge)
	prove := r.spec("take the lease of the reconciliation", r.prove)
	prove.Every, prove.Lease = leaseRenew, r.lease
	return loop.Run(ctx, check, prove)
}

// spec returns the specification of a loop of the schedule.
func (r *Proofs) spec(work string, do func(context.Context) error) loop.Spec {
	return loop.Spec{Part: "reconciliation", Work: work, Every: r.o.Every, Do: do, Recoverer: r.o.Recoverer,
		Log: r.o.Log}
}

// prove reconciles the books while this node has the lease. Then it drops its results, so that it does not repeat
// alarms of another node.
func (r *Proofs) prove(ctx context.Context) error {
	r.holds.Store(true)
	defer func() {
		r.holds.Store(false)
		r.mu.Lock()
		clear(r.proved)
		r.mu.Unlock()
		r.o.Books.ForgetReconciliations()
	}()
	if !loop.Sleep(ctx, r.o.Every) { // the start of a node has more important work
		return nil
	}
	rounds := []loop.Spec{r.spec("the scheduled reconciliation", r.round)}
	if r.o.Share > 0 {
		rounds = append(rounds, r.spec("the scheduled reconciliation of everything", r.nightly))
	}
	return loop.Run(ctx, rounds...)
}
