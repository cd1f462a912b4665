package campaigns

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	// reclaimAtOnce is how many campaigns are worked on at the same time.
	reclaimAtOnce = 8
	// reclaimPage is how many campaigns that are due are held in memory.
	reclaimPage = 200
	// reclaimWithin is the time for one campaign: one whose Redis hangs must not hold up the others.
	reclaimWithin = timeout.Backend
)

// Reclaimer ends campaigns: it closes what has expired, and drains what is closed, until everything is in the
// ledger. What is due stands in the database, so that it catches up after any outage. One node at a time does it,
// by a lease; that saves work, and is no condition: each step may be done by anybody at any time, because the
// script closes a shard once and the ledger gives its rest back once.
type Reclaimer struct {
	o     ReclaimerOptions
	lease *cluster.Lease

	mu    sync.Mutex
	again map[string]again // campaigns that were not done at the last try
}

// ReclaimerLedger knows which campaigns are due, and which of them it has all of. [ledger.Campaigns] does.
type ReclaimerLedger interface {
	Due(ctx context.Context, now int64, after string, limit int) (list []ledger.DueCampaign, next string, err error)
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	Update(ctx context.Context, id string, change func(*rain.Campaign) error) (*rain.Campaign, error)
	Cleared(ctx context.Context, campaign string) (bool, error)
	Emptied(ctx context.Context, campaign string) (bool, error)
}

// ClosedStock is what is left of a campaign in Redis.
type ClosedStock interface {
	CloseCampaign(ctx context.Context, c *rain.Campaign) error
	Expire(ctx context.Context, c *rain.Campaign, ttl time.Duration) error
}

// Outbox counts the entries of a campaign that are not in the ledger yet.
type Outbox interface {
	Pending(ctx context.Context, c *rain.Campaign) (int64, error)
}

// ReclaimerOptions of a reclaimer. All are needed.
type ReclaimerOptions struct {
	Node

	Service *Service
	Ledger  ReclaimerLedger
	Stock   ClosedStock
	Outbox  Outbox
	KeepFor time.Duration // how long a drained campaign stays in Redis
}

// NewReclaimer makes a reclaimer. Its Run must be started.
func NewReclaimer(o ReclaimerOptions) *Reclaimer {
	return &Reclaimer{o: o, again: map[string]again{}, lease: o.lease("reclaim", "reclaimer", reclaimLease)}
}

// again is when a campaign is tried again, and what has been said of it.
type again struct {
	tries   int
	at      int64  // Unix ms
	alarmed string // the code of the last alarm that was raised about it
}

// Run works, whenever this node holds the lease, until ctx ends. Nothing that fails ends it.
func (r *Reclaimer) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "reclaimer", Work: "looking for campaigns that are due", Every: reclaimEvery,
		Lease: r.lease, Do: r.sweep, Recoverer: r.o.Recoverer, Log: r.o.Log})
}

// sweep handles each campaign that is due, some at a time.
func (r *Reclaimer) sweep(ctx context.Context) error {
	now := r.o.Clock()
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, next, err := r.o.Ledger.Due(ctx, now, cursor, reclaimPage)
		if err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(reclaimAtOnce)
		for _, c := range page {
			seen[c.ID] = true
			if r.waits(c.ID, now) {
				continue
			}
			g.Go(func() error { r.handle(ctx, c); return nil })
		}
		_ = g.Wait() // each campaign has its own error, and its own next time
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if next == "" {
			break
		}
		cursor = next
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.again, func(id string, _ again) bool { return !seen[id] })
	return nil
}

func (r *Reclaimer) waits(id string, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now < r.again[id].at
}

// errWaiting is a campaign of which something is still on its way to the ledger.
var errWaiting = errors.New("wins or reclaims are on their way to the ledger")

// errNotCleared is a campaign that Redis has nothing left of, and the ledger not everything.
var errNotCleared = errors.New(
	"the campaign is closed and Redis has nothing left of it, but its escrow still holds money: " +
		"where Redis has lost it, run redrain rebuild; then reconcile it",
)

// handle does for one campaign what is due, and notes when to try again what could not be done.
func (r *Reclaimer) handle(ctx context.Context, due ledger.DueCampaign) {
	ctx, cancel := context.WithTimeout(ctx, reclaimWithin)
	defer cancel()
	err := r.o.Recoverer.Try("reclaimer", func() error { return r.end(ctx, due) })
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.again[due.ID]
	switch {
	case err == nil:
		delete(r.again, due.ID)
		return
	case errors.Is(err, errWaiting):
		was.at = r.o.Clock() + wait(was.tries, 5_000)
	case errors.Is(err, errNotCleared):
		if was.alarmed != "escrow_not_cleared" {
			r.o.Bus.Alarm("escrow_not_cleared", due.ID, errNotCleared.Error())
		}
		was.alarmed = "escrow_not_cleared"
		was.at = r.o.Clock() + wait(was.tries, 60_000)
	default:
		if was.tries < 3 { // said a few times; what lasts is said by the outages of its back end
			r.o.Log.Warn("a campaign that is due could not be ended; trying again later", "campaign", due.ID, "status",
				due.Status, "err", err)
		}
		was.at = r.o.Clock() + wait(was.tries, 60_000)
	}
	was.tries++
	r.again[due.ID] = was
}

// wait is the pause before the next try, in milliseconds: from half a second, doubled each time, up to most.
func wait(tries int, most int64) int64 { return min(500<<min(tries, 20), most) }

// end closes a campaign if need be, and drains it as far as it goes.
func (r *Reclaimer) end(ctx context.Context, due ledger.DueCampaign) error {
	if due.Status != rain.Closed {
		r.o.Log.Info("the campaign has expired; closing it", "campaign", due.ID)
		if _, err := r.o.Service.Close(ctx, due.ID); err != nil {
			return err
		}
		faults.Point("reclaim.after_close")
	}
	// A shard that is shut stays shut, and what it has left is on its way to the sponsor.
	c, err := r.o.Ledger.Campaign(ctx, due.ID)
	if err != nil {
		return err
	}
	return r.drain(ctx, c)
}

// drain closes the shards, and marks the campaign as drained when nothing of it waits in Redis any more and the
// ledger has the whole budget. Redis alone cannot say so: one that has forgotten looks empty too.
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
	// What dead letters ask for may be more than is theirs, and must not pass for a stock that Redis has lost.
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
	// Before it is marked: who dies in between does it again, and nothing stays in Redis for ever.
	if err := r.o.Stock.Expire(ctx, c, r.o.KeepFor); err != nil {
		return err
	}
	drained, err := r.o.Ledger.Update(ctx, c.ID, func(c *rain.Campaign) error { c.Drained = true; return nil })
	if err != nil {
		return err
	}
	r.o.Known.Put(drained)
	r.o.Bus.Changed(drained) // rooms that are still open are told so
	r.o.Log.Info("the campaign is closed and everything of it is in the ledger", "campaign", c.ID)
	return nil
}
