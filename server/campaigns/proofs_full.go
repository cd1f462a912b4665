package campaigns

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
	"redrain/server/cluster"
)

const (
	// fullLease is of the full proof that somebody has asked for: it costs as much as all that there is.
	fullLease = "reconcile-full"
	// fullBooks stands for a full proof where campaigns have their ids, and "" is the proof of what is recent.
	fullBooks = " full"
	// keepPlaceEvery is how often it is kept how far the full proof in the background has come.
	keepPlaceEvery = 10 * time.Second
	// staleFull is after how long a full proof is too old, beside the time that it takes.
	staleFull = 7 * 24 * time.Hour
)

// ErrFullProof is the error of a full proof that is asked for while another one is under way.
var ErrFullProof = errors.New("a full proof is under way, which somebody has asked for; ask again when it has ended")

// Recent proves what is recent, for somebody who asks, and says when the last full proof has found something.
// Whoever comes
// while somebody is at it waits.
func (r *Proofs) Recent(ctx context.Context) (reconcile.Books, error) {
	books, err := r.recent(ctx, nil)
	if err != nil || books.Kind == reconcile.KindFull || r.o.Kept == nil {
		return books, err
	}
	last, err := r.o.Kept.LastProofs(ctx)
	if err != nil {
		return reconcile.Books{}, err
	}
	if full := last.Full; full.ProvedAt > 0 && !full.Balanced {
		books.Balanced = false
		books.Findings = append(books.Findings, fmt.Sprintf("the last full proof, of %s, has found faults in rows "+
			"that "+
			"are not recent: redrain reconcile --full names "+
			"them", time.UnixMilli(full.ProvedAt).UTC().Format(time.RFC3339)))
	}
	return books, nil
}

func (r *Proofs) recent(ctx context.Context, each reconcile.CampaignProved) (reconcile.Books, error) {
	if err := enter(ctx, r.everything); err != nil {
		return reconcile.Books{}, err
	}
	defer func() { <-r.everything }()
	return r.o.Books.ReconcileRecent(ctx, r.o.Hot, each)
}

// Full proves all books by every row, for somebody who asks. One is made at a time, by all nodes together: the error is
// ErrFullProof where there is one.
func (r *Proofs) Full(ctx context.Context, progress func(reconcile.Progress)) (books reconcile.Books, err error) {
	began := false
	lease := cluster.NewLease(cluster.LeaseOptions{Leases: r.o.Leases, Name: fullLease, Part: "reconciliation",
		Node: r.o.Node + " " + rand.Text(), TTL: leaseTTL, Renew: leaseRenew, Recoverer: r.o.Recoverer, Log: r.o.Log})
	defer lease.Release(ctx)
	err = lease.Under(ctx, func(ctx context.Context) (err error) {
		began = true
		books, err = r.o.Books.ReconcileFull(ctx, r.o.Hot, reconcile.FullOptions{Progress: progress})
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

// keepFull notes what a full proof has found, and raises the alarm.
func (r *Proofs) keepFull(ctx context.Context, books reconcile.Books) error {
	r.note(fullBooks, len(books.Findings) == 0, books.Fingerprint, books.Findings, "")
	r.mu.Lock()
	r.proved[fullBooks] = proofOf(ledger.ProofFull, r.o.Clock(), &books)
	r.mu.Unlock()
	return r.keepProofs(ctx)
}

func proofOf(kind string, now int64, books *reconcile.Books) ledger.Proof {
	return ledger.Proof{Kind: kind, ProvedAt: now, TookMS: books.TookMS, Balanced: books.Balanced,
		Findings: len(books.Findings), Difference: books.Difference}
}

// runFull reads all books again and again until ctx ends, as long as this node has the lease, and once in a while where
// another has it: slice by slice, with a pause after each that keeps what it costs to a share of the time. Small books
// are read as a whole with what is recent.
func (r *Proofs) runFull(ctx context.Context) {
	reading := loop.FailureLog{Work: "the full reconciliation in the background", Log: r.o.Log}
	for loop.Sleep(ctx, r.o.Every) {
		own := !r.holds.Load()
		if own && !r.ownFull() || !r.large.Load() || r.o.Kept == nil || r.o.Share <= 0 {
			continue
		}
		err := r.o.Recoverer.Try("reconciliation", func() error { return r.pass(ctx, own) })
		if !errors.Is(err, errNotMine) {
			reading.Record(ctx, err)
		}
	}
}

var errNotMine = errors.New("another node has the lease of the reconciliation")

// pass reads all books once, from where an earlier pass has ended in the middle. One of this node's own, which has not
// got the lease, begins at the beginning, and leaves the place of the others alone.
func (r *Proofs) pass(ctx context.Context, own bool) error {
	var kept ledger.Reading
	var err error
	if !own {
		kept, err = r.o.Kept.Reading(ctx)
	}
	if err != nil {
		return err
	}
	if kept.BeganAt == 0 {
		kept.BeganAt = r.o.Clock()
	}
	o := reconcile.FullOptions{Each: func(id string, rec reconcile.Reconciliation, err error) {
		if ctx.Err() == nil {
			_ = r.heed(id, rec, err) // in the books' own list
			r.miss(id, err)
		}
	}}
	from := reconcile.Place{}
	if json.Unmarshal([]byte(kept.Place), &from) == nil && from.Part != "" {
		o.From = &from
	}
	last := time.Now()
	o.Slice = func(ctx context.Context, at reconcile.Place, took time.Duration) error {
		if !own && !r.holds.Load() {
			return errNotMine
		}
		kept.SpentMS += took.Milliseconds()
		if !own && time.Since(last) >= keepPlaceEvery {
			last = time.Now()
			place, err := json.Marshal(at)
			if err == nil {
				kept.Place = string(place)
				err = r.o.Kept.KeepReading(ctx, kept)
			}
			if err != nil {
				return err
			}
		}
		if !loop.Sleep(ctx, time.Duration(float64(took)*(1/r.o.Share-1))) {
			return ctx.Err()
		}
		return nil
	}
	books, err := r.o.Books.ReconcileFull(ctx, r.o.Hot, o)
	if err != nil {
		return err
	}
	books.TookMS = r.o.Clock() - kept.BeganAt
	r.o.Log.Info("all books were read", "balanced", books.Balanced, "findings", len(books.Findings), "took_ms",
		books.TookMS, "of_which_reading_ms", kept.SpentMS)
	r.mu.Lock()
	r.own.fullAt = time.Now()
	r.mu.Unlock()
	err = r.keepFull(ctx, books)
	if own {
		return err
	}
	return errors.Join(err, r.o.Kept.KeepReading(ctx, ledger.Reading{}))
}
