package campaigns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/reconcile"
	"redrain/rain"
	"redrain/server/cluster"
)

const (
	reconcileLease = "reconcile"
	leaseTTL       = 30 * time.Second
	leaseRenew     = 10 * time.Second
	// reconcileAllEvery is how many rounds come before one that looks at everything: the rows, the drained
	// campaigns, the whole ledger. The others compare the sums of the live campaigns, which is cheap.
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
	ReconcileAll(ctx context.Context, hot reconcile.Hot,
		each func(campaign string, r reconcile.Reconciliation, err error)) (reconcile.Books, error)
	ForgetReconciliations()
}

// LiveCampaigns lists the campaigns that may still have something in Redis. [ledger.Campaigns] does.
type LiveCampaigns interface {
	Live(ctx context.Context) ([]*rain.Campaign, error)
}

// Proofs proves the books on a schedule, on one node at a time, and for operators who ask. It changes nothing:
// what it finds is for a person.
type Proofs struct {
	o     ProofsOptions
	lease *cluster.Lease

	everything chan struct{} // holds the one who looks at everything
	campaigns  chan struct{} // holds those who look at one campaign
	holds      atomic.Bool   // whether this node has the lease

	rounds int // the schedule's own

	mu     sync.Mutex
	faulty map[string]string // campaign → fingerprint of what was found last; "" is the ledger as a whole
	missed map[string]int    // campaign → rounds since it was proved last, where it cannot be
}

// StreamWatch looks whether somebody has deleted messages of the payout stream, and says so.
type StreamWatch interface {
	Look(ctx context.Context) error
	Forget() // another node looks
}

// ProofsOptions of proofs. All are needed but those that say so.
type ProofsOptions struct {
	Books     Books
	Campaigns LiveCampaigns
	Leases    cluster.Leases
	Hot       reconcile.Hot
	Stream    StreamWatch   // nil: only the books are looked at
	Node      string        // this node's name in the lease
	Every     time.Duration // between two rounds; only Run needs it
	Alarm     func(code, campaign, message string)
	Guard     *rounds.Guard // hears of a round that panics; nil: it is logged only
	Log       *slog.Logger
}

// NewProofs makes the proofs. Who asks gets one at once; Run makes those of the schedule.
func NewProofs(o ProofsOptions) *Proofs {
	return &Proofs{
		o:          o,
		everything: make(chan struct{}, 1), campaigns: make(chan struct{}, reconcileAtOnce),
		faulty: map[string]string{}, missed: map[string]int{},
		lease: cluster.NewLease(cluster.LeaseOptions{Leases: o.Leases, Name: reconcileLease, Part: "reconciliation",
			Node: o.Node, TTL: leaseTTL, Renew: leaseRenew, Guard: o.Guard, Log: o.Log}),
	}
}

// Campaign proves one campaign, for somebody who asks.
func (r *Proofs) Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error) {
	if err := enter(ctx, r.campaigns); err != nil {
		return reconcile.Reconciliation{}, err
	}
	defer func() { <-r.campaigns }()
	return r.o.Books.ReconcileWith(ctx, id, r.o.Hot, reconcile.Rows)
}

// Everything proves all books. Whoever comes while somebody is at it waits.
func (r *Proofs) Everything(ctx context.Context,
	each func(string, reconcile.Reconciliation, error)) (reconcile.Books, error) {
	if err := enter(ctx, r.everything); err != nil {
		return reconcile.Books{}, err
	}
	defer func() { <-r.everything }()
	return r.o.Books.ReconcileAll(ctx, r.o.Hot, each)
}

func enter(ctx context.Context, door chan struct{}) error {
	select {
	case door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run proves the books until ctx ends, as long as this node has the lease.
func (r *Proofs) Run(ctx context.Context) error {
	var keeping sync.WaitGroup
	keeping.Go(func() { r.keepLease(ctx) })
	keeping.Go(func() { r.runQuick(ctx) })
	defer keeping.Wait()
	proving := outage.Outage{What: "the scheduled reconciliation", Log: r.o.Log}
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !r.holds.Load() {
			r.rest()
			continue
		}
		proving.Ended(ctx, r.o.Guard.Try("reconciliation", func() error { return r.round(ctx) }))
	}
}

// rest forgets what was found: another node has the lease, and says it.
func (r *Proofs) rest() {
	r.mu.Lock()
	clear(r.faulty)
	clear(r.missed)
	r.mu.Unlock()
	r.rounds = 0
	r.o.Books.ForgetReconciliations()
}

// keepLease takes the lease when it is free, renews it, and gives it back in the end.
func (r *Proofs) keepLease(ctx context.Context) {
	asking := outage.Outage{What: "taking the lease of the reconciliation", Log: r.o.Log}
	rounds.Every(ctx, leaseRenew, func(ctx context.Context) {
		held, err := r.lease.Take(ctx)
		r.holds.Store(held)
		asking.Ended(ctx, err)
	})
	r.lease.Release(ctx)
}

// round proves the live campaigns, or everything. Its error says what could not be looked at; the rest was.
func (r *Proofs) round(ctx context.Context) error {
	r.rounds++
	if r.rounds%reconcileAllEvery == 0 {
		var unread error
		books, err := r.Everything(ctx, func(campaign string, rec reconcile.Reconciliation, err error) {
			unread = errors.Join(unread, r.heed(campaign, rec, err))
			r.miss(campaign, err)
		})
		if err != nil {
			return err
		}
		r.note("", len(books.Findings) == 0, books.Fingerprint, books.Findings, "")
		return unread
	}
	live, err := r.o.Campaigns.Live(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(live))
	for _, c := range live {
		ids = append(ids, c.ID)
	}
	faulty := r.faults()
	for id := range faulty {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	r.forgetMissed(ids)
	var unread error
	for _, id := range ids {
		depth := reconcile.Sums
		if _, faulty := faulty[id]; faulty {
			depth = reconcile.Rows // the sums alone cannot tell that it is healed
		}
		rec, err := r.o.Books.ReconcileWith(ctx, id, r.o.Hot, depth)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		unread = errors.Join(unread, r.heed(id, rec, err))
		r.miss(id, err)
	}
	return unread
}

// miss counts a round of the schedule in which a campaign could not be proved because of Redis, and raises the alarm
// after some. That the database is away is no secret, and is said elsewhere.
func (r *Proofs) miss(campaign string, err error) {
	if !errors.Is(err, reconcile.ErrHot) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed[campaign]++; r.missed[campaign] == unprovedRounds {
		r.o.Log.Error("a campaign cannot be proved", "campaign", campaign, "rounds", unprovedRounds, "err", err)
		r.o.Alarm("reconciliation", campaign, fmt.Sprintf("the books could not be proved for %d rounds: %v. Nothing "+
			"is known to be wrong, and nothing that is would be found", unprovedRounds, err))
	}
}

// forgetMissed drops what was missed of campaigns that are not looked at any more.
func (r *Proofs) forgetMissed(but []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(id string, _ int) bool { return !slices.Contains(but, id) })
}

// faults are the campaigns in which something is wrong.
func (r *Proofs) faults() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.faulty)
}

// heed takes note of a campaign's reconciliation. One that could not be made changes nothing, and is returned.
func (r *Proofs) heed(campaign string, rec reconcile.Reconciliation, err error) error {
	if err != nil {
		return fmt.Errorf("cannot be checked: %w", err)
	}
	r.note(campaign, rec.Balanced, rec.Fingerprint, rec.Findings, fmt.Sprintf("the difference is %s; ", rec.Difference))
	return nil
}

// note raises the alarm where something has begun not to fit, or does not fit in another way than before.
func (r *Proofs) note(campaign string, fits bool, fingerprint string, found []string, difference string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, before := r.faulty[campaign]
	if r.missed[campaign] >= unprovedRounds {
		r.o.Log.Info("the campaign can be proved again", "campaign", campaign)
	}
	delete(r.missed, campaign)
	switch {
	case fits && before:
		delete(r.faulty, campaign)
		r.o.Log.Info("the books balance again", "campaign", campaign)
	case fits, before && was == fingerprint:
	default:
		r.faulty[campaign] = fingerprint
		for _, f := range found {
			r.o.Log.Error("the books do not balance", "campaign", campaign, "finding", f)
		}
		r.o.Alarm("reconciliation", campaign, "the books do not balance: "+difference+inShort(found))
	}
}

// inShort is the first of what was found.
func inShort(found []string) string {
	switch len(found) {
	case 0:
		return "every row is as it should be"
	case 1:
		return found[0]
	}
	return fmt.Sprintf("%s; and %d more findings, see redrain reconcile", found[0], len(found)-1)
}
