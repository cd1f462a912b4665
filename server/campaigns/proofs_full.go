package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
	"redrain/server/cluster"
)

// fullLease is of the full reconciliation that an operator has asked for: it costs as much as all that there is.
const fullLease = "reconcile-full"

// ErrFullProof is the error of a full reconciliation that is asked for while another one is running.
var ErrFullProof = errors.New("another full proof is running; try again when it has ended")

// Full reconciles all books by every row, for an operator. One runs at a time in the whole cluster: the error is
// ErrFullProof if there is one. progress may be nil.
func (r *Proofs) Full(ctx context.Context, progress func(reconcile.Progress)) (books reconcile.Books, err error) {
	began := false
	defer r.clearGauges()
	lease := cluster.NewLease(cluster.LeaseOptions{Leases: r.o.Leases, Name: fullLease, Part: "reconciliation",
		Node: r.o.Node + " " + rand.Text(), TTL: leaseTTL, Renew: leaseRenew, Recoverer: r.o.Recoverer, Log: r.o.Log})
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

// heedEach takes note of each campaign of a full reconciliation. What could not be read is added to unread.
func (r *Proofs) heedEach(ctx context.Context, unread *error) reconcile.CampaignProved {
	return func(id string, rec reconcile.Reconciliation, err error) {
		if ctx.Err() == nil {
			*unread = errors.Join(*unread, r.heed(id, rec, err))
			r.miss(id, err)
		}
	}
}

// keepFull notes what a full reconciliation has found, and raises the alarm.
func (r *Proofs) keepFull(ctx context.Context, books reconcile.Books) error {
	r.note("", len(books.Findings) == 0, books.Fingerprint, books.Findings, "")
	r.mu.Lock()
	r.full = r.o.Clock()
	r.proved[""] = ledger.Proof{ProvedAt: r.full, TookMS: books.TookMS, Balanced: books.Balanced,
		Findings: len(books.Findings), Difference: books.Difference}
	r.mu.Unlock()
	return r.keepProofs(ctx)
}

// isFullDue reports whether no node has made a full reconciliation today, in UTC.
func (r *Proofs) isFullDue() bool {
	r.mu.Lock()
	last := r.full
	r.mu.Unlock()
	if is := r.last.Load(); is != nil {
		last = max(last, is.Everything.ProvedAt)
	}
	day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }
	return r.o.Share > 0 && day(last) != day(r.o.Clock())
}

// beginFull makes the nightly reconciliation beside the rounds, which go on. The one before must have ended.
func (r *Proofs) beginFull(ctx context.Context, beside *sync.WaitGroup) {
	r.mu.Lock()
	busy := r.busy
	r.busy = true
	r.mu.Unlock()
	if busy {
		return
	}
	beside.Go(func() {
		err := r.o.Recoverer.Try("reconciliation", func() error { return r.nightly(ctx) })
		r.mu.Lock()
		r.busy = false
		r.mu.Unlock()
		if !errors.Is(err, errNotMine) {
			r.provingAll.Record(ctx, err)
		}
	})
}

var errNotMine = errors.New("another node has the lease of the reconciliation")

// nightly reconciles all books by every row, with pauses that keep it to a share of the time.
func (r *Proofs) nightly(ctx context.Context) error {
	var spent time.Duration
	var unread error
	books, err := r.o.Books.ReconcileFull(ctx, r.o.Hot, reconcile.FullOptions{
		Each: r.heedEach(ctx, &unread),
		Pause: func(ctx context.Context, took time.Duration) error {
			if !r.holds.Load() {
				return errNotMine
			}
			spent += took
			if !loop.Sleep(ctx, time.Duration(float64(took)*(1/r.o.Share-1))) {
				return ctx.Err()
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	r.o.Log.Info("all books were reconciled", "balanced", books.Balanced, "findings", len(books.Findings), "took_ms",
		books.TookMS, "of_which_reading_ms", spent.Milliseconds())
	return errors.Join(unread, r.keepFull(ctx, books))
}
