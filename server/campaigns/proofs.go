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
	// reconcileAllEvery is how many rounds come before one that proves small books as a whole, which reads every row
	// of them, where that takes more than one part of quickShare of the time. Else each round proves them. So it does
	// large ones: that costs what has come since the one before, and the fewer that is, the less do the looks at live
	// campaigns read, whose sums go on from its checkpoints.
	reconcileAllEvery = 10
	// quickRounds is how many quick rounds there are for one of the schedule. They look at every row of the live
	// campaigns, so that what somebody has changed by hand is named within seconds.
	quickRounds = 12
	// quickShare bounds what that costs: a campaign whose look took so long is left alone for so many times as long,
	// and after a round there is a pause as long as it.
	quickShare = 20
	// unprovedRounds is after how many rounds of the schedule without a proof a person is told: who can keep a campaign
	// from being read could hide behind that what they do to it.
	unprovedRounds = 3
	// reconcileAtOnce is how many operators may have one campaign's rows checked at the same time. Each takes as
	// much memory as the campaign's split.
	reconcileAtOnce = 2
)

// Books proves the books. [reconcile.Reconciler] does.
type Books interface {
	ReconcileWith(ctx context.Context, id string, hot reconcile.Hot,
		depth reconcile.Depth) (reconcile.Reconciliation, error)
	ReconcileRecent(ctx context.Context, hot reconcile.Hot, each reconcile.CampaignProved) (reconcile.Books, error)
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

// Proofs proves the books on a schedule, on one node at a time and now and then on the others, and for operators who
// ask. It changes nothing:
// what it finds is for a person.
type Proofs struct {
	o     ProofsOptions
	lease *cluster.Lease

	everything chan struct{} // holds the one who looks at what is recent
	campaigns  chan struct{} // holds those who look at one campaign
	holds      atomic.Bool   // whether this node has the lease
	large      atomic.Bool   // whether the last proof of what is recent has left out rows, which runFull reads
	cheap      atomic.Bool   // whether it has taken so little that each round may make one

	rounds int // the schedule's own

	mu     sync.Mutex
	faulty map[string]string       // campaign → fingerprint of what was found last; "" is what is recent, or fullBooks
	missed map[string]missed       // campaign → since it was proved last, where it cannot be
	proved map[string]ledger.Proof // campaign → what has been proved and is not noted yet
	busy   bool                    // a proof of everything is under way
	own    ownProof

	*proofAge
}

// StreamWatch looks whether somebody has deleted messages of the payout stream, and says so.
type StreamWatch interface {
	Look(ctx context.Context) error
	Forget() // another node looks
}

// ProofsOptions of proofs. All are needed but those that say so.
type ProofsOptions struct {
	Books     Books
	Campaigns ProvedCampaigns
	Kept      KeptProofs // nil: nobody is told when the books were proved
	Leases    cluster.Leases
	Hot       reconcile.Hot
	Stream    StreamWatch   // nil: only the books are looked at
	Node      string        // this node's name in the lease
	Every     time.Duration // between two rounds; only Run needs it
	Share     float64       // of the time that the full proof in the background may take; 0: there is none
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
		o:          o,
		everything: make(chan struct{}, 1), campaigns: make(chan struct{}, reconcileAtOnce),
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
	return r.o.Books.ReconcileWith(ctx, id, r.o.Hot, reconcile.Chained)
}

func enter(ctx context.Context, door chan struct{}) error {
	select {
	case door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run proves the books until ctx ends, as long as this node has the lease, and looks all the time whether somebody
// does. Where another has it, this node proves them from time to time too: see ownTurn.
func (r *Proofs) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	r.beginOwn(time.Now())
	beside.Go(func() { r.keepLease(ctx) })
	beside.Go(func() { r.runQuick(ctx) })
	beside.Go(func() { r.runFull(ctx) })
	defer beside.Wait()
	proving := loop.FailureLog{Work: "the scheduled reconciliation", Log: r.o.Log}
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for had, first := true, true; ; {
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
		had = holds
		own, depth := r.ownTurn(time.Now(), holds), reconcile.Sums
		if !holds && !own {
			continue
		}
		if !holds {
			depth = reconcile.Rows // nobody may be taking the quick looks at them
		}
		proving.Record(ctx, r.o.Recoverer.Try("reconciliation", func() error { return r.round(ctx, depth) }))
		if own || r.large.Load() || r.cheap.Load() || r.rounds%reconcileAllEvery == 0 || first || r.neverProved() {
			first = false // it says how much a proof takes here
			r.proveEverything(ctx, &beside)
		}
	}
}

// rest forgets how this node has proved, when another has the lease. What it has said is wrong it does not say again.
func (r *Proofs) rest() {
	r.mu.Lock()
	clear(r.missed)
	clear(r.proved)
	r.mu.Unlock()
	r.rounds = 0
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
