package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// FullOptions are the settings of a full reconciliation. The zero value makes no pauses.
type FullOptions struct {
	Each     CampaignProved
	Progress func(Progress) // is called periodically; may be nil
	// Pause is called after each slice with the duration of the slice. Its error ends the reconciliation. It may be
	// nil.
	Pause func(ctx context.Context, took time.Duration) error
}

// ReconcileAll checks the whole ledger: every transaction with its lines, its source documents and its hash, and
// every balance with its entries. All balances must sum to zero. It checks the withdrawals, the blocks of hashes with
// their roots, and every campaign, including drained ones. It reads pages by primary key, each from one snapshot, and
// may run while other nodes write. It uses no result of an earlier run. Its memory does not grow with the ledger.
//
// The error is the database's.
func (s *Reconciler) ReconcileAll(ctx context.Context, hot Hot, each CampaignProved) (Books, error) {
	return s.ReconcileFull(ctx, hot, FullOptions{Each: each})
}

// ReconcileFull is ReconcileAll with progress and pauses.
func (s *Reconciler) ReconcileFull(ctx context.Context, hot Hot, o FullOptions) (Books, error) {
	r := &fullProof{s: s, hot: hot, o: o, books: emptyBooks(), began: s.clock()}
	if err := r.measure(ctx); err != nil {
		return Books{}, fmt.Errorf("reconcile everything: %w", err)
	}
	for _, p := range r.parts() {
		if err := r.part(ctx, p); err != nil {
			return Books{}, fmt.Errorf("reconcile everything: %w", err)
		}
	}
	s.finish(&r.books, &r.found, r.began)
	return r.books, nil
}

// fullProof is a running full reconciliation.
type fullProof struct {
	s     *Reconciler
	hot   Hot
	o     FullOptions
	books Books
	found findings
	began int64

	after string      // the last row that the present part has read
	walk  *chain.Walk // over the hashes

	progress Progress
	reporter reporter
	// The approximate number of rows for a transaction and an account, including its own.
	ofTxn, ofAccount int64
}

// fullPart is a part of a full reconciliation. slice reads some rows after r.after, and reports whether there are
// more.
type fullPart struct {
	what  string
	slice func(ctx context.Context) (more bool, err error)
}

func (r *fullProof) parts() []fullPart {
	whole := func(do func(context.Context) error) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) { return false, do(ctx) }
	}
	return []fullPart{
		{"the transactions", r.txns},
		{"the accounts", r.accounts},
		{"all balances together", whole(r.total)},
		{"the withdrawals", whole(r.withdrawals)},
		{"the audit and the blocks of hashes", r.blocks},
		{"the roots", whole(r.roots)},
		{"the dead letters", whole(func(ctx context.Context) (err error) {
			r.books.Letters, err = allLetters(ctx, r.s.db)
			return err
		})},
		{"the campaigns", r.campaigns},
	}
}

// part reads a part to its end. A panic, or unreadable rows, is a finding and hides no other.
func (r *fullProof) part(ctx context.Context, p fullPart) error {
	r.progress.Part, r.after = p.what, ""
	for more := true; more; {
		began := time.Now()
		err := r.s.recoverer.Try("reconciliation", func() (err error) {
			more, err = p.slice(ctx)
			return err
		})
		switch {
		case err == nil:
		case errors.Is(err, loop.ErrPanic), sqldb.IsUnreadable(err):
			r.found.add("a check that broke off", "the check of %s broke off: %v", p.what, err)
			more = false
		default:
			return err
		}
		r.report()
		if r.o.Pause == nil {
			continue
		}
		if err := r.o.Pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}
