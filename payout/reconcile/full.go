package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/rounds"
	"redrain/internal/sqldb"
	ledgerchain "redrain/payout/ledger/chain"
)

// Place is how far a full proof has come. It can be kept, and gone on from.
type Place struct {
	Part  string            `json:"part"`            // "": it begins
	After string            `json:"after,omitempty"` // what the part has read up to
	Ends  []ledgerchain.End `json:"ends,omitempty"`  // the same of the chains

	Books Books    `json:"books"` // what was found up to here
	Keys  []string `json:"keys"`  // of the findings
}

// FullOptions say how a full proof is made. The zero value makes it at once, from the beginning.
type FullOptions struct {
	From     *Place
	Each     CampaignProved
	Progress func(Progress) // hears again and again how far it has come; nil: nobody does
	// Slice is called after each slice with the place where the next begins, and how long the slice took. Its error
	// ends the
	// proof. nil: one slice follows the other.
	Slice func(ctx context.Context, at Place, took time.Duration) error
}

// ReconcileAll checks the whole ledger: every transaction with its lines and its source rows, every balance with
// its entries, that all balances sum to zero, every row that changes with its history, the chains, the checkpoints, and
// every campaign, the drained ones too. It reads in pages, each as of one moment, and may run while everything goes on.
// It takes nothing from an earlier proof, and little memory.
//
// The error is the database's.
func (s *Reconciler) ReconcileAll(ctx context.Context, hot Hot, each CampaignProved) (Books, error) {
	return s.ReconcileFull(ctx, hot, FullOptions{Each: each})
}

// ReconcileFull is ReconcileAll in slices.
func (s *Reconciler) ReconcileFull(ctx context.Context, hot Hot, o FullOptions) (Books, error) {
	r := &fullProof{s: s, hot: hot, o: o, at: Place{Books: emptyBooks(KindFull)}, began: s.clock()}
	if o.From != nil {
		r.at = *o.From
		r.found = findings{texts: r.at.Books.Findings, keys: r.at.Keys}
		r.at.Books.Findings = []string{}
	}
	if err := r.measure(ctx); err != nil {
		return Books{}, fmt.Errorf("reconciling everything: %w", err)
	}
	reached := r.at.Part == ""
	parts := r.parts()
	for n, p := range parts {
		if reached = reached || p.name == r.at.Part; !reached {
			continue
		}
		if r.at.Part != p.name {
			r.at.Part, r.at.After, r.at.Ends = p.name, "", nil
		}
		next := "the end"
		if n+1 < len(parts) {
			next = parts[n+1].name
		}
		if err := r.part(ctx, p, next); err != nil {
			return Books{}, fmt.Errorf("reconciling everything: %w", err)
		}
	}
	s.finish(&r.at.Books, &r.found, r.began)
	return r.at.Books, nil
}

// fullProof is a full proof under way.
type fullProof struct {
	s     *Reconciler
	hot   Hot
	o     FullOptions
	at    Place
	found findings
	began int64

	progress Progress
	teller   teller
	// About how many rows belong to a transaction and to an account, with its own.
	ofTxn, ofAccount int64
}

// fullPart is a part of a full proof: slice reads some of it, from at.After on, and tells whether there is more.
type fullPart struct {
	name, what string
	slice      func(ctx context.Context) (more bool, err error)
}

func (r *fullProof) parts() []fullPart {
	whole := func(do func(context.Context) error) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) { return false, do(ctx) }
	}
	list := []fullPart{
		{"txns", "the transactions", r.txns},
		{"accounts", "the accounts", r.accounts},
		{"total", "all balances together", whole(r.total)},
		{"withdrawals", "the withdrawals", whole(r.withdrawals)},
		{"dates", "what is dated", whole(func(ctx context.Context) error { return r.s.checkDated(ctx, &r.found) })},
		{"seen", "what was seen before",
			whole(func(ctx context.Context) error { return r.s.checkSeen(ctx, &r.found) })},
	}
	for _, kind := range historyKinds {
		list = append(list, fullPart{"histories of " + string(kind), "the " +
			"histories", func(ctx context.Context) (bool, error) {
			return r.histories(ctx, kind)
		}})
	}
	return append(list, fullPart{"lists", "the members of lists", r.lists}, fullPart{"chains", "the chains", r.chains},
		fullPart{"archives", "what has left the books", whole(r.archives)},
		fullPart{"checkpoints", "the checkpoints", whole(r.checkpoints)},
		fullPart{"letters", "the dead letters", whole(func(ctx context.Context) (err error) {
			r.at.Books.Letters, err = allLetters(ctx, r.s.db)
			return err
		})},
		fullPart{"campaigns", "the campaigns", r.campaigns})
}

// part reads a part to its end. One that panics, or meets rows that cannot be read, is a finding and hides no other.
func (r *fullProof) part(ctx context.Context, p fullPart, next string) error {
	r.progress.Part = p.what
	for more := true; more; {
		began := time.Now()
		err := r.s.guard.Try("reconciliation", func() (err error) {
			more, err = p.slice(ctx)
			return err
		})
		switch {
		case err == nil:
		case errors.Is(err, rounds.ErrPanic), sqldb.IsUnreadable(err):
			r.found.add("a proof that broke off", p.what+err.Error(), "the proof of %s broke off: %v", p.what, err)
			more = false
		default:
			return err
		}
		if !more {
			r.at.Part, r.at.After, r.at.Ends = next, "", nil
		}
		r.tell()
		if r.o.Slice == nil {
			continue
		}
		if err := r.o.Slice(ctx, r.place(), time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// place is where the next slice begins.
func (r *fullProof) place() Place {
	at := r.at
	at.Books.Findings, at.Keys = r.found.texts, r.found.keys
	return at
}
