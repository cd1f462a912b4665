package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"redrain/internal/rounds"
	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/checkpoint"
	"redrain/payout/ledger/posting"
)

const (
	// stepLinks is how many links of the chains one step of the proof of what is recent looks at. One may have 4,000
	// lines.
	stepLinks = 200
	// periodRows is how many rows come together before a checkpoint closes them: what is open is read by each proof.
	periodRows = 20_000
	// smallRows is up to how many links and payouts everything is read each time.
	smallRows = 50_000
)

// The kinds of proof of all books.
const (
	KindFull   = ledger.ProofFull   // every row is read
	KindRecent = ledger.ProofRecent // what came since the newest checkpoint, and what is not over yet
)

// Since says what a proof of what is recent has taken from the ones before.
type Since struct {
	Checkpoint   int64 `json:"checkpoint"`   // the number of the checkpoint that it went on from
	At           int64 `json:"at"`           // Unix ms, when that was made
	Transactions int64 `json:"transactions"` // that were not read again
}

// ReconcileRecent proves what has come since the newest checkpoint, with the accounts and campaigns that it touches,
// and what is not over: live campaigns, withdrawals on their way, dead letters that wait. It takes what is before from
// the checkpoint. Where it finds nothing it closes what it has read with a new checkpoint. A small ledger it reads as a
// whole, as ReconcileAll does, whose arguments these are.
func (s *Reconciler) ReconcileRecent(ctx context.Context, hot Hot, each CampaignProved) (Books, error) {
	from, faults, small, err := s.newestCheckpoint(ctx)
	if err != nil {
		return Books{}, fmt.Errorf("reconciling what is recent: %w", err)
	}
	if small {
		return s.ReconcileAll(ctx, hot, each)
	}
	b := emptyBooks(KindRecent)
	b.Since = &Since{Checkpoint: from.Number, At: from.At, Transactions: from.Txns()}
	began := s.clock()
	r := &recentProof{s: s, from: from, campaigns: map[string]bool{}, books: &b}
	r.found.addAll("a checkpoint that is not whole", faults)
	err = s.parts(&r.found, []part{
		{"what is recent", func() error { return r.read(ctx) }},
		{"the dead letters", func() (err error) { b.Letters, err = allLetters(ctx, s.db); return err }},
		{"the campaigns", func() error { return r.proveCampaigns(ctx, hot, each) }},
	})
	if err != nil {
		return Books{}, fmt.Errorf("reconciling what is recent: %w", err)
	}
	s.finish(&b, &r.found, began)
	return b, nil
}

// newestCheckpoint is the checkpoint to go on from, with the faults of those that are not whole. small tells whether
// there is none and need be none.
func (s *Reconciler) newestCheckpoint(ctx context.Context) (c checkpoint.Checkpoint, faults []string, small bool,
	err error) {
	c, err = checkpoint.Newest(ctx, s.db, func(fault string) { faults = append(faults, fault) })
	if err != nil || c.Number > 0 {
		return c, faults, false, err
	}
	var rows int64
	_, err = s.db.First(ctx, []any{&rows}, "SELECT (SELECT COALESCE(SUM(links), 0) FROM chain_head) + "+
		"(SELECT COALESCE(SUM(paid), 0) FROM campaign_tally)")
	return c, faults, rows < s.small, err
}

// recentProof is a proof of what is recent: steps one after the other, each of which reads some links of the chains and
// all that belongs to them, as of one moment.
type recentProof struct {
	s         *Reconciler
	from      checkpoint.Checkpoint // the newest that is written
	found     findings
	campaigns map[string]bool // that were touched, or are live
	books     *Books
}

// read takes one step after the other to the end, and closes what has no fault. What has one, and what comes behind it,
// is read again by the next proof.
func (r *recentProof) read(ctx context.Context) error {
	at := place{marks: r.from.Marks, lastTxn: r.from.LastTxn, ahead: map[string]checkpoint.Sum{},
		pending: map[string]bool{}, renewed: map[string]bool{}}
	for end := false; !end; {
		step := newStep(r.s, r.from, at, &r.found)
		err := r.s.db.View(ctx, viewLimit, step.read)
		if err != nil {
			return err
		}
		end, at = step.end, step.place
		maps.Copy(r.campaigns, step.campaigns)
		r.books.Transactions += int64(len(step.txns))
		r.books.Accounts += int64(len(step.accounts))
		if len(r.found.texts) > 0 || at.rows < r.s.period || !end && len(at.renewed) > 0 {
			continue // sums that begin anew are known at the end
		}
		if err := r.close(ctx, &at); err != nil {
			return err
		}
	}
	return nil
}

// close makes a checkpoint of what was read. Should another node have been faster, the rest is read from its
// checkpoint on.
func (r *recentProof) close(ctx context.Context, at *place) error {
	sums := slices.Collect(maps.Values(at.ahead))
	_, err := checkpoint.Add(ctx, r.s.db, r.from, checkpoint.Checkpoint{At: r.s.clock(), Marks: at.marks,
		LastTxn: at.lastTxn}, sums)
	if err != nil {
		return err
	}
	if r.from, err = checkpoint.Newest(ctx, r.s.db, func(string) {}); err != nil {
		return err
	}
	*at = place{marks: r.from.Marks, lastTxn: r.from.LastTxn, ahead: map[string]checkpoint.Sum{}, pending: at.pending,
		renewed: map[string]bool{}}
	return nil
}

// proveCampaigns compares the sums of the campaigns that were touched or are live with what Redis has, and all of those
// whose sums do not fit.
func (r *recentProof) proveCampaigns(ctx context.Context, hot Hot, each CampaignProved) error {
	for _, id := range slices.Sorted(maps.Keys(r.campaigns)) {
		rec, err := r.s.reconcileWith(ctx, id, hot, look{txns: true})
		if errors.Is(err, posting.ErrUnknownCampaign) {
			continue // its transactions and rows are named
		}
		if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrHot)) {
			return err
		}
		r.books.note(id, rec, err)
		if each != nil {
			each(id, rec, err)
		}
	}
	return nil
}

// part is a part of a proof of all books.
type part struct {
	what string
	look func() error
}

// parts works on all parts. One that panics, or meets rows that cannot be read, is a finding and hides no other.
func (s *Reconciler) parts(found *findings, parts []part) error {
	for _, p := range parts {
		err := s.guard.Try("reconciliation", p.look)
		switch {
		case err == nil:
		case errors.Is(err, rounds.ErrPanic), sqldb.IsUnreadable(err):
			found.add("a proof that broke off", p.what+err.Error(), "the proof of %s broke off: %v", p.what, err)
		default:
			return err
		}
	}
	return nil
}
