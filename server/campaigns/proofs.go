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
	// fullLease is of the full reconciliation that an operator has asked for: it costs as much as all that there is.
	fullLease  = "reconcile-full"
	leaseTTL   = 30 * time.Second
	leaseRenew = leaseTTL / 4
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
	proved map[string]ledger.Proof // campaign → what has been proved and is not noted yet

	*proofAge
}

// ProofsOptions of proofs. All are needed but those that say so.
type ProofsOptions struct {
	Node

	Books     Books
	Campaigns ProvedCampaigns
	Kept      KeptProofs
	Hot       reconcile.Hot
	Every     time.Duration // between two rounds; only Run needs it
	Share     float64       // of the time that the nightly reconciliation may take; 0: there is none
}

// NewProofs makes the proofs. Who asks gets one at once; Run makes those of the schedule.
func NewProofs(o ProofsOptions) *Proofs {
	return &Proofs{o: o, campaigns: make(chan struct{}, reconcileAtOnce), faulty: map[string]string{},
		proved: map[string]ledger.Proof{}, proofAge: newProofAge(o.Registerer),
		lease: o.lease(reconcileLease, "reconciliation", leaseTTL)}
}

// Campaign proves one campaign, for somebody who asks.
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

// clearGauges forgets what an operator's run has found, on a node without the lease: no round there clears it.
func (r *Proofs) clearGauges() {
	if !r.holds.Load() {
		r.o.Books.ForgetReconciliations()
	}
}

// ErrFullProof is the error of a full reconciliation that is asked for while another one is running.
var ErrFullProof = errors.New("another full proof is running; try again when it has ended")

// Full reconciles all books by every row, for an operator. One runs at a time in the whole cluster: the error is
// ErrFullProof if there is one. progress may be nil.
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
		return reconcile.Books{}, fmt.Errorf("%w: another node has taken over, because this one was too slow to say "+
			"that it is at work", ErrFullProof)
	}
	return books, r.keepFull(ctx, books)
}

// Run reconciles the books until ctx ends, as long as this node has the lease. Each node checks when they were
// reconciled last.
func (r *Proofs) Run(ctx context.Context) error {
	check := r.spec("asking when the books were proved", r.lookAtAge)
	prove := r.spec("taking the lease of the reconciliation", r.prove)
	prove.Every, prove.Lease = leaseRenew, r.lease
	return loop.Run(ctx, check, prove)
}

// spec describes a loop of the schedule.
func (r *Proofs) spec(work string, do func(context.Context) error) loop.Spec {
	return loop.Spec{Part: "reconciliation", Work: work, Every: r.o.Every, Do: do, Recoverer: r.o.Recoverer,
		Log: r.o.Log}
}

// prove reconciles the books as long as this node has the lease. Then it forgets what it has proved and found, so that
// it does not repeat alarms of another node.
func (r *Proofs) prove(ctx context.Context) error {
	r.holds.Store(true)
	defer func() {
		r.holds.Store(false)
		r.mu.Lock()
		clear(r.proved)
		r.mu.Unlock()
		r.o.Books.ForgetReconciliations()
	}()
	if !loop.Sleep(ctx, r.o.Every) { // a node that starts has more important work
		return nil
	}
	rounds := []loop.Spec{r.spec("the scheduled reconciliation", r.round)}
	if r.o.Share > 0 {
		rounds = append(rounds, r.spec("the scheduled reconciliation of everything", r.nightly))
	}
	return loop.Run(ctx, rounds...)
}
