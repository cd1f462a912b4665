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
	// stockingPatience is how long a campaign may be loading before the loop of some node takes it up: longer than
	// the largest campaign takes, and loading twice at once does no harm. In milliseconds, like the others.
	stockingPatience = 60_000
	// restockEvery is the time between two tries of that.
	restockEvery = 30_000
	// enforceEvery is how often a campaign whose rain is near is applied again, in case that Redis has lost the
	// last time: a replica that has taken over may be a little behind.
	enforceEvery = 5_000
	// idleEvery is the same for a campaign without a rain: so it is known in time that Redis has lost one.
	idleEvery = 60_000
	// nearMS is how long before its start a rain is near.
	nearMS = 60_000
)

// ReconcileLoop finishes what a command or a crash has left half done of a live campaign: it stocks and applies. Each
// step is idempotent, so the loops of all nodes may do the same at once. What is over is the reclaimer's.
type ReconcileLoop struct {
	o ReconcileLoopOptions

	done map[string]kept
}

// ReconcileLoopOptions of a reconcile loop. All are needed but those that say so.
type ReconcileLoopOptions struct {
	Node

	Service *Service
	Rebuild func(ctx context.Context, campaign string) (Rebuilt, error) // nil: only an operator has one rebuilt
}

// NewReconcileLoop makes a reconcile loop. Its Run must be started.
func NewReconcileLoop(o ReconcileLoopOptions) *ReconcileLoop {
	return &ReconcileLoop{o: o, done: map[string]kept{}}
}

// kept is what this loop has last done for a campaign.
type kept struct {
	revision int64 // applied
	at       int64 // when it was applied, or stocking was tried
	lost     bool  // that Redis has lost the campaign was said
}

// Run looks after the campaigns once a second until ctx ends.
func (l *ReconcileLoop) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "reconcile loop", Work: "the upkeep of the campaigns", Every: keepEvery,
		Recoverer: l.o.Recoverer, Log: l.o.Log, Do: func(ctx context.Context) error {
			live := l.o.Known.Live()
			err := l.reconcile(ctx, live)
			dropDead(l.done, live)
			return err
		}})
}

// reconcile looks after each campaign, and returns the last error. One that fails, or panics, holds up no other.
func (l *ReconcileLoop) reconcile(ctx context.Context, live []*rain.Campaign) (failed error) {
	for _, c := range live {
		if err := l.o.Recoverer.Try("reconcile loop", func() error { return l.keep(ctx, c) }); err != nil {
			failed = fmt.Errorf("campaign %s, %s: %w", c.ID, c.Status, err)
		}
	}
	return failed
}

func (l *ReconcileLoop) keep(ctx context.Context, c *rain.Campaign) error {
	now := l.o.Clock()
	switch {
	case c.Status == rain.Closed, now >= c.ExpiresAt:
		return nil // the reclaimer's
	case c.Status == rain.Loading:
		return l.restock(ctx, c, now)
	default:
		return l.enforce(ctx, c, now)
	}
}

// restock takes up a stocking that seems to have been cut off.
func (l *ReconcileLoop) restock(ctx context.Context, c *rain.Campaign, now int64) error {
	was := l.done[c.ID]
	if now-c.CreatedAt < stockingPatience || now-was.at < restockEvery {
		return nil
	}
	was.at = now
	l.done[c.ID] = was
	_, err := l.o.Service.Stock(ctx, c.ID)
	return err
}

// enforce applies what is new, and from time to time what should be there already: often while a rain is near or
// falling.
func (l *ReconcileLoop) enforce(ctx context.Context, c *rain.Campaign, now int64) error {
	was, r := l.done[c.ID], c.Current()
	every := int64(idleEvery)
	if r != nil && now >= r.StartsAt-nearMS && now < r.TapsUntil() {
		every = enforceEvery
	}
	if was.revision >= c.Revision && now-was.at < every {
		return nil
	}
	err := l.o.Service.Enforce(ctx, c)
	if lost := errors.Is(err, store.ErrNoState); lost && !was.lost {
		was.lost = true
		l.done[c.ID] = was
		l.o.Bus.Alarm("state_lost", c.ID, l.advice(c.ID))
	}
	if errors.Is(err, store.ErrNoState) && l.o.Rebuild != nil {
		// With --confirm stream nobody was told of a win that the stream does not have, so nothing is given up by it.
		_, err = l.o.Rebuild(ctx, c.ID)
		if errors.Is(err, ErrRebuilding) {
			return nil // and look again in the next round: who rebuilds it may die
		}
		if errors.Is(err, store.ErrAlive) || errors.Is(err, store.ErrSuperseded) ||
			errors.Is(err, posting.ErrRebuildSuperseded) {
			err = nil // another node has been faster
		}
	}
	if err != nil {
		return err
	}
	was.revision, was.at, was.lost = c.Revision, now, false
	l.done[c.ID] = was
	return nil
}

// advice is what an operator is told of a campaign that Redis has lost.
func (l *ReconcileLoop) advice(campaign string) string {
	if l.o.Rebuild != nil {
		return "redis has lost the campaign's state and its taps are unavailable; it is being rebuilt"
	}
	return "redis has lost the campaign's state and its taps are unavailable: run redrain rebuild " + campaign
}
