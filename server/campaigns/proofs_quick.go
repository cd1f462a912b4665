package campaigns

import (
	"context"
	"errors"
	"time"

	"redrain/internal/loop"
	"redrain/payout/reconcile"
)

// runQuick looks at every row of the live campaigns again and again until ctx ends, as long as this node has the lease.
// What cannot be read is left to the rounds of the schedule, which say so.
func (r *Proofs) runQuick(ctx context.Context) {
	pause := max(r.o.Every/quickRounds, time.Second)
	due := map[string]time.Time{}
	for wait := pause; loop.Sleep(ctx, wait); {
		began := time.Now()
		if r.holds.Load() {
			err := r.o.Recoverer.Try("reconciliation", func() error { return r.quick(ctx, due) })
			if r.o.Stream != nil {
				look := func() error { return r.o.Stream.Look(ctx) }
				err = errors.Join(err, r.o.Recoverer.Try("reconciliation", look))
			}
			if err != nil && ctx.Err() == nil {
				r.o.Log.Debug("a quick look at the books has failed", "err", err)
			}
		} else {
			clear(due)
			if r.o.Stream != nil {
				r.o.Stream.Forget()
			}
		}
		wait = max(pause, time.Since(began))
	}
}

// quick looks at those of the live campaigns that are due. due is when each is looked at next.
func (r *Proofs) quick(ctx context.Context, due map[string]time.Time) error {
	live, err := r.o.Campaigns.LiveIDs(ctx)
	if err != nil {
		return err
	}
	still := make(map[string]bool, len(live))
	for _, id := range live {
		still[id] = true
		began := time.Now()
		if began.Before(due[id]) {
			continue
		}
		rec, failed := r.o.Books.ReconcileWith(ctx, id, r.o.Hot, reconcile.Rows)
		err = errors.Join(err, r.heed(id, rec, failed))
		due[id] = time.Now().Add(quickShare * time.Since(began))
	}
	for id := range due {
		if !still[id] {
			delete(due, id)
		}
	}
	return errors.Join(err, r.keepProofs(ctx))
}
