package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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
	ReconcileCampaign(ctx context.Context, id string, live reconcile.LiveState,
		depth reconcile.Depth) (reconcile.Reconciliation, error)
	ReconcileFull(ctx context.Context, live reconcile.LiveState, o reconcile.FullOptions) (reconcile.Books, error)
}

// KeptProofs stores the results of reconciliations for all nodes. [ledger.Proofs] implements it.
type KeptProofs interface {
	NoteProofs(ctx context.Context, proofs []ledger.Proof) error
	LastProofs(ctx context.Context) (ledger.LastProofs, error)
	// Pending returns the ids of drained campaigns that were not reconciled by row since.
	Pending(ctx context.Context) ([]string, error)
}

// Proofs reconciles the books on a schedule, on the node that has the lease, and for operators. Each round compares the
// sums of live campaigns. Every row of a campaign is checked once it is drained, and every row of all books each night.
// It changes nothing: its findings are for a person.
type Proofs struct {
	o     ProofsOptions
	lease *cluster.Lease

	campaigns chan struct{} // a slot for each operator who reconciles one campaign

	difference, findings                   prometheus.Gauge // of faulty; 0 without the lease
	everythingAt, everythingTook, oldestAt prometheus.Gauge

	mu     sync.Mutex
	holds  bool                    // whether this node has the lease
	faulty map[string]fault        // by campaign: the last result with findings; "" is all books
	proved map[string]ledger.Proof // by campaign: results that are not stored yet

	last  atomic.Pointer[Proved]
	since int64 // time of this node's first look at the age, Unix ms; 0: none yet
	late  int   // reconciliations that were too old at the last look
}

// fault is a result with findings.
type fault struct {
	fingerprint string
	difference  rain.Money // of either sign
	findings    int
}

// ProofsOptions are the options of Proofs. All are required unless stated otherwise.
type ProofsOptions struct {
	Node

	Books   Books
	LiveIDs func(context.Context) ([]string, error) // campaigns to reconcile, including those with invalid rows
	Kept    KeptProofs
	Live    reconcile.LiveState
	Every   time.Duration // interval of the rounds; only Run needs it
	Share   float64       // share of the time for the nightly reconciliation; 0: none
}

// NewProofs returns Proofs. Run runs the schedule; Campaign and Full work without it.
func NewProofs(o ProofsOptions) *Proofs {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &Proofs{o: o, campaigns: make(chan struct{}, reconcileAtOnce), faulty: map[string]fault{},
		proved: map[string]ledger.Proof{}, lease: o.lease(reconcileLease, "reconciliation", leaseTTL),
		difference: gauge("redrain_reconcile_difference", "Sum over all campaigns of what the last reconciliation "+
			"could not account for, in minor units. Anything but 0 is an alarm."),
		findings: gauge("redrain_reconcile_findings",
			"Faults named by the last reconciliations. Anything but 0 is an alarm."),
		everythingAt: gauge("redrain_reconcile_everything_proved_timestamp_seconds",
			"Time of the last full reconciliation by any node. Alert if it does not rise."),
		everythingTook: gauge("redrain_reconcile_everything_seconds",
			"Duration of the last full reconciliation, with its pauses."),
		oldestAt: gauge("redrain_reconcile_oldest_proved_timestamp_seconds",
			"Time of the oldest reconciliation of the live campaigns. Alert if it does not rise."),
	}
}

// Campaign reconciles one campaign, for an operator.
func (r *Proofs) Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error) {
	select {
	case r.campaigns <- struct{}{}:
	case <-ctx.Done():
		return reconcile.Reconciliation{}, ctx.Err()
	}
	defer func() { <-r.campaigns }()
	return r.o.Books.ReconcileCampaign(ctx, id, r.o.Live, reconcile.Rows)
}

// ErrFullProof means that another full reconciliation is running.
var ErrFullProof = errors.New("another full proof is running; try again when it has ended")

// Full reconciles all books by every row, for an operator. One runs at a time in the cluster: the error is ErrFullProof
// if there is one already. progress may be nil.
func (r *Proofs) Full(ctx context.Context, progress func(reconcile.Progress)) (books reconcile.Books, err error) {
	began := false
	asked := r.o.Node
	asked.Name += " " + rand.Text()
	lease := asked.lease(fullLease, "reconciliation", leaseTTL)
	defer lease.Release(ctx)
	err = lease.Under(ctx, func(ctx context.Context) (err error) {
		began = true
		books, err = r.o.Books.ReconcileFull(ctx, r.o.Live, reconcile.FullOptions{Progress: progress,
			Each: r.noteEach(ctx, new(error))})
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

// prove reconciles the books while this node has the lease. Then it drops the results that are not stored.
func (r *Proofs) prove(ctx context.Context) error {
	r.hold(true)
	defer r.hold(false)
	if !loop.Sleep(ctx, r.o.Every) { // the start of a node has more important work
		return nil
	}
	rounds := []loop.Spec{r.spec("the scheduled reconciliation", r.round)}
	if r.o.Share > 0 {
		rounds = append(rounds, r.spec("the scheduled reconciliation of everything", r.nightly))
	}
	return loop.Run(ctx, rounds...)
}

func (r *Proofs) hold(holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = holds
	clear(r.proved)
	r.show()
}

// show sets the gauges. It needs r.mu.
func (r *Proofs) show() {
	difference, findings := 0.0, 0.0
	for _, f := range r.faulty {
		if r.holds {
			difference += float64(max(f.difference, -f.difference))
			findings += float64(f.findings)
		}
	}
	r.difference.Set(difference)
	r.findings.Set(findings)
}
