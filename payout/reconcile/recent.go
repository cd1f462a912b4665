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
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
)

const (
	// stepLinks is how many links of the chains one step of the proof of what is recent looks at. One may have 4,000
	// lines.
	stepLinks = 200
	// periodRows is how many rows come together before a checkpoint closes them: what is open is read by each proof.
	periodRows = 20_000
	// fineLinks is how many links a step looks at near a fault, so that a hole is small.
	fineLinks = 10
	// mostHoles is how many holes checkpoints may have. Where more is wrong, none is made: the books are not what the
	// ledger has written, and each proof reads all that came since.
	mostHoles = 20
	// mostLost is how many checkpoints in a row a proof may fail to make before it makes none any more: it
	// reads what they were to close again each time.
	mostLost = 3
	// smallRows is up to how many links, payouts and members of lists everything is read each time.
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
// and what is not over: live campaigns, withdrawals on their way, dead letters that wait. Of what is never over it
// looks at some in turn: turnKinds. It takes what is before from the checkpoint. What it has read it closes with a new
// checkpoint, but for the holes in which it has found something: these are read again by each proof, until nothing is
// wrong there. A small ledger it reads as a whole, as ReconcileAll does, whose arguments these are.
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
	r := &recentProof{s: s, from: from, campaigns: map[string]bool{}, books: &b,
		wrong: map[history.Kind]map[string]bool{}}
	r.found.addAll("a checkpoint that is not whole", faults)
	err = s.parts(&r.found, []part{
		{"what has its turn", func() (err error) { r.turn, err = s.readTurn(ctx); return err }},
		{"what is recent", func() error {
			if err := r.read(ctx); err != nil {
				return err
			}
			return r.keepTurn(ctx)
		}},
		{"what is dated", func() error { return s.checkDated(ctx, &r.found) }},
		{"what was seen before", func() error { return s.checkSeen(ctx, &r.found) }},
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
	say := func(fault string) { faults = append(faults, fault) }
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		faults = nil
		if c, err = checkpoint.Newest(ctx, tx, say); err != nil {
			return err
		}
		return checkpoint.Strays(ctx, tx, c, say)
	})
	if err != nil || c.Number > 0 {
		return c, faults, false, err
	}
	var rows int64
	_, err = s.db.First(ctx, []any{&rows}, "SELECT "+sumOfLinks+" + "+sumOfPaid+" + "+
		"(SELECT COUNT(*) FROM (SELECT 1 FROM list_member LIMIT ?) some)", s.small)
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

	turn  turn                             // what of the turnKinds it looks at
	wrong map[history.Kind]map[string]bool // where something is wrong
	at    place
	holes []checkpoint.Hole
	lie   bool  // a sum of payouts in a checkpoint is not what was written
	anew  bool  // sums were added up anew, and are to be kept
	lost  int   // checkpoints, one after the other, that this proof could not make
	moved bool  // another process has made one since
	fine  int   // how many steps are to be small ones
	left  int64 // steps in which rows had left the books when the holes were read
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
