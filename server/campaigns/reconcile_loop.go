package campaigns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

const (
	keepEvery = time.Second
	// stockingPatience is the time after which the loop of any node stocks a loading campaign, in milliseconds like the
	// others. It is longer than the largest campaign takes, and stocking twice at once does no harm.
	stockingPatience = 60_000
	// restockEvery is the interval of tries of that.
	restockEvery = 30_000
	// enforceEvery is the interval at which a campaign with a near rain is applied again. A replica that has taken over
	// may have lost the last time.
	enforceEvery = 5_000
	// idleEvery is the same for a campaign without a rain, so that its loss in Redis is noticed in time.
	idleEvery = 60_000
	// nearMS is the time before its start from which a rain is near.
	nearMS = 60_000
)

// ReconcileLoop completes interrupted commands on live campaigns: it stocks and applies. Each step is idempotent, so
// the loops of all nodes may do the same at once. The reclaimer handles campaigns that are over.
//
// Node and Service are required, and Run must be started.
type ReconcileLoop struct {
	Node

	Service *Service
	Rebuild func(ctx context.Context, campaign string) (Rebuilt, error) // nil: only operators rebuild campaigns

	done map[string]kept
}

// kept is the loop's last work on a campaign.
type kept struct {
	revision int64 // applied
	at       int64 // time of the last application or stocking
	lost     bool  // the loss of the campaign was reported
}

// Run handles the campaigns once a second until ctx ends.
func (l *ReconcileLoop) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "reconcile loop", Work: "the upkeep of the campaigns", Every: keepEvery,
		Recoverer: l.Recoverer, Log: l.Log, Do: func(ctx context.Context) error {
			live := l.Known.Live()
			err := l.reconcile(ctx, live)
			dropDead(l.done, live)
			return err
		}})
}

// reconcile handles each campaign, and returns the last error. A campaign that fails or panics delays no other.
func (l *ReconcileLoop) reconcile(ctx context.Context, live []*rain.Campaign) (failed error) {
	for _, c := range live {
		if err := l.Recoverer.Try("reconcile loop", func() error { return l.keep(ctx, c) }); err != nil {
			failed = fmt.Errorf("campaign %s, %s: %w", c.ID, c.Status, err)
		}
	}
	return failed
}

func (l *ReconcileLoop) keep(ctx context.Context, c *rain.Campaign) error {
	if l.done == nil {
		l.done = map[string]kept{}
	}
	now := l.Clock()
	switch {
	case c.Status == rain.Closed, now >= c.ExpiresAt:
		return nil // the reclaimer's
	case c.Status == rain.Loading:
		return l.restock(ctx, c, now)
	default:
		return l.enforce(ctx, c, now)
	}
}

// restock repeats a stocking that was probably interrupted.
func (l *ReconcileLoop) restock(ctx context.Context, c *rain.Campaign, now int64) error {
	was := l.done[c.ID]
	if now-c.CreatedAt < stockingPatience || now-was.at < restockEvery {
		return nil
	}
	was.at = now
	l.done[c.ID] = was
	_, err := l.Service.Stock(ctx, c.ID)
	return err
}

// enforce applies new versions, and repeats the last one periodically: often while a rain is near or falling.
func (l *ReconcileLoop) enforce(ctx context.Context, c *rain.Campaign, now int64) error {
	was, r := l.done[c.ID], c.Current()
	every := int64(idleEvery)
	if r != nil && now >= r.StartsAt-nearMS && now < r.TapsUntil() {
		every = enforceEvery
	}
	if was.revision >= c.Revision && now-was.at < every {
		return nil
	}
	err := l.Service.Enforce(ctx, c)
	if lost := errors.Is(err, store.ErrNoState); lost && !was.lost {
		was.lost = true
		l.done[c.ID] = was
		l.Bus.Alarm("state_lost", c.ID, l.advice(c.ID))
	}
	if errors.Is(err, store.ErrNoState) && l.Rebuild != nil {
		// With --confirm stream every win of a notified player is in the stream, so the rebuild loses none.
		_, err = l.Rebuild(ctx, c.ID)
		if errors.Is(err, ErrRebuilding) {
			return nil // and check again in the next round: the rebuilding node may die
		}
		if errors.Is(err, store.ErrAlive) || errors.Is(err, store.ErrSuperseded) ||
			errors.Is(err, posting.ErrRebuildSuperseded) || errors.Is(err, rain.ErrEpochClaimed) {
			err = nil // another node was faster
		}
	}
	if err != nil {
		return err
	}
	was.revision, was.at, was.lost = c.Revision, now, false
	l.done[c.ID] = was
	return nil
}

// advice returns the text of the alarm about a campaign that Redis has lost.
func (l *ReconcileLoop) advice(campaign string) string {
	if l.Rebuild != nil {
		return "redis has lost the campaign's state and its taps are unavailable; it is being rebuilt"
	}
	return "redis has lost the campaign's state and its taps are unavailable: run redrain rebuild " + campaign
}
