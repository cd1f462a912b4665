package campaigns

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/timeout"
)

const (
	reclaimEvery = time.Second
	reclaimLease = 10 * time.Second
	// reclaimAtOnce is the number of campaigns handled at the same time.
	reclaimAtOnce = 8
	// reclaimWithin is the limit for one campaign: one whose Redis hangs must not delay the others.
	reclaimWithin = timeout.Backend
)

// Reclaimer ends campaigns: it closes expired ones, and drains closed ones until everything is in the ledger. It reads
// the due campaigns from the database, so it catches up after any outage. One node at a time does it, by a lease. The
// lease only avoids double work: the script closes a shard once, and the ledger returns its rest once.
type Reclaimer struct {
	o     ReclaimerOptions
	lease *cluster.Lease

	mu    sync.Mutex
	again map[string]again // campaigns that were not completed at the last try
}

// ReclaimerOptions are the options of a Reclaimer. All are required.
type ReclaimerOptions struct {
	Node

	Service *Service
	Ledger  *ledger.Campaigns
	Stock   *store.Stock
	Outbox  *confirm.Outbox
	KeepFor time.Duration // time for which a drained campaign stays in Redis
}

// NewReclaimer returns a reclaimer. Its Run must be started.
func NewReclaimer(o ReclaimerOptions) *Reclaimer {
	return &Reclaimer{o: o, again: map[string]again{}, lease: o.lease("reclaim", "reclaimer", reclaimLease)}
}

// again is the time of a campaign's next try, and its last alarm.
type again struct {
	tries   int
	at      int64 // Unix ms
	alarmed bool  // that its escrow still holds money
}

// Run works while this node has the lease, until ctx ends. A failure does not end it.
func (r *Reclaimer) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "reclaimer", Work: "read the due campaigns", Every: reclaimEvery,
		Lease: r.lease, Do: r.sweep, Recoverer: r.o.Recoverer, Log: r.o.Log})
}

// sweep handles the due campaigns, some at a time.
func (r *Reclaimer) sweep(ctx context.Context) error {
	now := r.o.Clock()
	list, err := r.o.Ledger.Due(ctx, now)
	if err != nil {
		return err
	}
	isDue := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(reclaimAtOnce)
	for _, c := range list {
		isDue[c.ID] = true
		if r.waits(c.ID, now) {
			continue
		}
		g.Go(func() error { r.handle(ctx, c); return nil })
	}
	_ = g.Wait() // each campaign has its own error and its own next try
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.again, func(id string, _ again) bool { return !isDue[id] })
	return nil
}

func (r *Reclaimer) waits(id string, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now < r.again[id].at
}

// errWaiting means that entries of a campaign are in flight to the ledger.
var errWaiting = errors.New("wins or reclaims are in flight to the ledger")

// errNotCleared means that Redis has no entries of a campaign left, but the ledger does not have everything.
var errNotCleared = errors.New(
	"the campaign is closed and Redis has nothing left of it, but its escrow still holds money: " +
		"if Redis has lost it, run redrain rebuild; then reconcile it",
)

// handle ends one due campaign, or schedules the next try.
func (r *Reclaimer) handle(ctx context.Context, due ledger.DueCampaign) {
	ctx, cancel := context.WithTimeout(ctx, reclaimWithin)
	defer cancel()
	err := r.o.Recoverer.Try("reclaimer", func() error { return r.end(ctx, due) })
	r.mu.Lock()
	defer r.mu.Unlock()
	was, mostMS := r.again[due.ID], int64(60_000)
	switch {
	case err == nil:
		delete(r.again, due.ID)
		return
	case errors.Is(err, errWaiting):
		mostMS = 5_000
	case errors.Is(err, errNotCleared):
		if !was.alarmed {
			r.o.Bus.Alarm("escrow_not_cleared", due.ID, errNotCleared.Error())
		}
		was.alarmed = true
	default:
		if was.tries < 3 { // logged a few times; a lasting failure is logged as an outage of its back end
			r.o.Log.Warn("end a due campaign; trying again later", "campaign", due.ID, "status",
				due.Status, "err", err)
		}
	}
	was.at = r.o.Clock() + min(500<<min(was.tries, 20), mostMS)
	was.tries++
	r.again[due.ID] = was
}

// end closes a campaign if needed, and drains it as far as possible.
func (r *Reclaimer) end(ctx context.Context, due ledger.DueCampaign) error {
	if due.Status != rain.Closed {
		r.o.Log.Info("the campaign has expired; closing it", "campaign", due.ID)
		if _, err := r.o.Service.Close(ctx, due.ID); err != nil {
			return err
		}
		faults.Point("reclaim.after_close")
	}
	// A closed shard stays closed, and its rest is in flight to the sponsor.
	c, err := r.o.Ledger.Campaign(ctx, due.ID)
	if err != nil {
		return err
	}
	return r.drain(ctx, c)
}

// drain closes the shards. It marks the campaign as drained when no entry waits in Redis any more and the ledger has
// the complete budget. Redis alone does not suffice: one without data looks empty too.
func (r *Reclaimer) drain(ctx context.Context, c *rain.Campaign) error {
	err := r.o.Stock.CloseCampaign(ctx, c)
	lost := errors.Is(err, store.ErrNoState)
	if err != nil && !lost {
		return err
	}
	waiting, err := r.o.Outbox.Pending(ctx, c)
	if err != nil {
		return err
	}
	if waiting > 0 {
		return errWaiting
	}
	// Claims of a dead letter may be higher than its money. They must not hide a stock that Redis has lost.
	is := r.o.Ledger.Cleared
	if lost {
		is = r.o.Ledger.Emptied
	}
	cleared, err := is(ctx, c.ID)
	if err != nil {
		return err
	}
	if !cleared {
		return errNotCleared
	}
	// Expire before marking: after a crash in between both are repeated, and no key stays in Redis for ever.
	if err := r.o.Stock.Expire(ctx, c, r.o.KeepFor); err != nil {
		return err
	}
	drained, err := r.o.Ledger.Update(ctx, c.ID, func(c *rain.Campaign) error { c.Drained = true; return nil })
	if err != nil {
		return err
	}
	r.o.Known.Put(drained)
	r.o.Bus.Changed(drained) // notifies open rooms
	r.o.Log.Info("the campaign is closed and everything of it is in the ledger", "campaign", c.ID)
	return nil
}
