package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"redrain/internal/loop"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// FullOptions are the settings of a full reconciliation. The zero value makes no pauses.
type FullOptions struct {
	Each     CampaignProved
	Progress func(Progress) // is called periodically; may be nil
	// Pause is called after each slice with the duration of the slice. Its error ends the reconciliation. It may be
	// nil.
	Pause func(ctx context.Context, took time.Duration) error
}

// Progress is the progress of a full reconciliation.
type Progress struct {
	Part   string  `json:"part"`    // the present part
	Done   int64   `json:"done"`    // rows read
	Of     int64   `json:"of"`      // approximate total of rows
	Rate   float64 `json:"rate"`    // rows per second, so far
	LeftMS int64   `json:"left_ms"` // estimated time left; -1: not known yet
}

// progressEvery is the interval of progress reports.
const progressEvery = time.Second

// ReconcileFull checks the whole ledger: every transaction with its lines, its source documents and its hash, and
// every balance with its entries. All balances must sum to zero. It checks the withdrawals, the blocks of hashes with
// their roots, and every campaign, including drained ones. It reads pages by primary key, each from one snapshot, and
// may run while other nodes write. It uses no result of an earlier run. Its memory does not grow with the ledger.
//
// The error is the database's, Pause's or the context's.
func (s *Reconciler) ReconcileFull(ctx context.Context, live LiveState, o FullOptions) (Books, error) {
	r := &fullProof{s: s, live: live, o: o, start: time.Now(), afterTxn: math.MinInt64,
		books: Books{Campaigns: []CampaignBooks{}, Unchecked: []CampaignProblem{}, Findings: []string{}}}
	r.walk = chain.Walk{SkipTxns: true, Found: r.found.addFault}
	began := s.clock()
	err := s.db.View(ctx, viewLimit, r.measure)
	for _, p := range r.parts() {
		if err == nil {
			err = r.part(ctx, p)
		}
	}
	if err != nil {
		return Books{}, fmt.Errorf("reconcile everything: %w", err)
	}
	b := &r.books
	b.Findings = append(b.Findings, r.found.all()...)
	b.Balanced = b.Unbalanced == 0 && len(b.Unchecked) == 0 && len(b.Findings) == 0
	b.CheckedAt = s.clock()
	b.TookMS = b.CheckedAt - began
	b.Fingerprint = r.found.fingerprint("")
	return r.books, nil
}

// fullProof is a running full reconciliation.
type fullProof struct {
	s     *Reconciler
	live  LiveState
	o     FullOptions
	books Books
	found findings

	after    string     // the last row that the present part has read
	afterTxn int64      // the last transaction
	walk     chain.Walk // over the hashes

	progress        Progress
	start, reported time.Time
	// The approximate number of rows for a transaction and an account, including its own.
	ofTxn, ofAccount int64
}

// fullPart is a part of a full reconciliation. slice reads some rows, and reports whether there are more.
type fullPart struct {
	what  string
	slice func(ctx context.Context) (more bool, err error)
}

// parts lists the parts. Most parts read each slice from one snapshot.
func (r *fullProof) parts() []fullPart {
	view := func(slice func(context.Context, sqldb.Querier) (bool, error)) func(context.Context) (bool, error) {
		return func(ctx context.Context) (more bool, err error) {
			err = r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				more, err = slice(ctx, tx)
				return err
			})
			return more, err
		}
	}
	whole := func(do func(context.Context, sqldb.Querier) error) func(context.Context) (bool, error) {
		return view(func(ctx context.Context, q sqldb.Querier) (bool, error) { return false, do(ctx, q) })
	}
	return []fullPart{
		{"the transactions", view(r.txns)},
		{"the accounts", view(r.accounts)},
		{"all balances together", whole(r.total)},
		{"the withdrawals", whole(func(ctx context.Context, q sqldb.Querier) error {
			return errors.Join(checkWithdrawals(ctx, q, &r.found), checkHeld(ctx, q, &r.found))
		})},
		{"the audit and the blocks of hashes", r.blocks},
		{"the roots", whole(func(ctx context.Context, q sqldb.Querier) error {
			return chain.CheckRoots(ctx, q, func(fault string) { r.found.add("an invalid root", "%s", fault) })
		})},
		{"the dead letters", whole(func(ctx context.Context, q sqldb.Querier) (err error) {
			r.books.Letters, err = allLetters(ctx, q)
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
		if errors.Is(err, loop.ErrPanic) || sqldb.IsUnreadable(err) {
			r.found.add("a check that broke off", "the check of %s broke off: %v", p.what, err)
			more, err = false, nil
		}
		if err != nil {
			return err
		}
		r.report()
		if r.o.Pause != nil {
			if err := r.o.Pause(ctx, time.Since(began)); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure estimates the number of rows. Transactions count with their payouts and their hash in a block, accounts
// with their entries. Audit records are read twice, and campaigns read the payouts again. An impossible count in a
// tally is skipped, because another check reports it.
func (r *fullProof) measure(ctx context.Context, tx *sqldb.Tx) error {
	var txns, audits, paid, accounts int64
	_, err := tx.First(ctx, []any{&txns, &audits, &paid, &accounts}, "SELECT (SELECT COALESCE(MAX(id), 0) FROM txn), "+
		"(SELECT COALESCE(MAX(id), 0) FROM audit), (SELECT COALESCE(SUM(CASE WHEN paid BETWEEN 0 AND ? THEN paid "+
		"ELSE 0 END), 0) FROM campaign_tally), (SELECT COUNT(*) FROM balance)", rain.MaxPackets)
	r.ofTxn, r.ofAccount = 1+paid/max(txns, 1), 1+paid/max(accounts, 1)
	r.progress.Of = txns*(r.ofTxn+1) + accounts*r.ofAccount + audits + paid
	return err
}

// report reports the progress if progressEvery has passed.
func (r *fullProof) report() {
	now := time.Now()
	if r.o.Progress == nil || now.Sub(r.reported) < progressEvery {
		return
	}
	r.reported = now
	p := r.progress
	p.Of, p.LeftMS = max(p.Of, p.Done), -1
	if took := now.Sub(r.start); took > 0 && p.Done > 0 {
		p.Rate = float64(p.Done) / took.Seconds()
		p.LeftMS = int64(float64(p.Of-p.Done) / p.Rate * 1000)
	}
	r.o.Progress(p)
}
