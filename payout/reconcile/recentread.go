package reconcile

import (
	"context"
	"maps"
	"slices"

	ledgerchain "redrain/payout/ledger/chain"
	"redrain/payout/ledger/checkpoint"
)

// read reads the holes of the newest checkpoint again, and takes one step after the other to the end. It closes what it
// has read, but for the holes: where something is wrong.
func (r *recentProof) read(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for end := false; !end; {
		var err error
		if end, err = r.step(ctx); err != nil {
			return err
		}
		if r.at.rows < r.s.period && !r.anew || r.lie || len(r.holes) > mostHoles || r.lost >= mostLost {
			continue
		}
		if len(r.at.renewed) > 0 {
			if !end {
				continue // sums that begin anew are known at the end
			}
			if quiet, err := r.nothingLeft(ctx); err != nil || !quiet {
				return err
			}
		}
		r.anew = false
		if err := r.close(ctx); err != nil {
			return err
		}
	}
	if len(r.holes) > mostHoles {
		r.found.add("too much that is wrong", "", "more than %d parts of the books are wrong, so no checkpoint is "+
			"made, and each proof reads all that came since the newest one", mostHoles)
	}
	return nil
}

// nothingLeft tells whether no rows have left the books since the beginning. Else some may have left a hole after
// it was read, and the next proof makes the checkpoint.
func (r *recentProof) nothingLeft(ctx context.Context) (quiet bool, err error) {
	steps, err := countSteps(ctx, r.s.db)
	return steps == r.left, err
}

// begin goes to the newest checkpoint, and reads its holes.
func (r *recentProof) begin(ctx context.Context) (err error) {
	if r.left, err = countSteps(ctx, r.s.db); err != nil {
		return err
	}
	r.at, r.holes = newPlace(r.from), nil
	for _, hole := range r.from.Holes {
		if err := r.readHole(ctx, hole); err != nil {
			return err
		}
	}
	return nil
}

// readHole looks whether something is still wrong in a hole.
func (r *recentProof) readHole(ctx context.Context, hole checkpoint.Hole) error {
	from := r.at
	from.marks, from.lastTxn = ledgerchain.MarksOf(hole.From), hole.LastTxn
	step := newStep(r.s, r.from, from, 0)
	step.until = ledgerchain.MarksOf(hole.To)
	if err := r.s.db.View(ctx, viewLimit, step.read); err != nil {
		return err
	}
	r.took(step)
	r.at.pending, r.at.renewed = step.pending, step.renewed
	if len(step.found.keys) > 0 {
		r.holes = append(r.holes, hole)
		step.addTo(r.at.aside)
		return nil
	}
	r.at.rows = step.rows
	step.addTo(r.at.ahead)
	return nil
}

// took notes what a step has met.
func (r *recentProof) took(step *recentStep) {
	maps.Copy(r.campaigns, step.campaigns)
	for _, kind := range turnKinds {
		if r.wrong[kind] == nil {
			r.wrong[kind] = map[string]bool{}
		}
		maps.Copy(r.wrong[kind], step.found.things[kind])
	}
	r.books.Transactions += int64(len(step.txns))
	r.books.Accounts += int64(len(step.accounts))
	r.found.absorb(step.found)
	r.lie = r.lie || step.lie
}

// step takes the next step. One that finds something is taken again in smaller ones.
func (r *recentProof) step(ctx context.Context) (end bool, err error) {
	links := r.s.step
	if r.fine > 0 {
		links = min(links, fineLinks)
	}
	step := newStep(r.s, r.from, r.at, links)
	step.turn = r.turn.ids
	if err := r.s.db.View(ctx, viewLimit, step.read); err != nil {
		return false, err
	}
	faulty := len(step.found.keys) > 0
	if faulty && r.fine == 0 && links > fineLinks {
		r.fine = int(links/fineLinks) + 1
		return false, nil
	}
	r.fine = max(r.fine-1, 0)
	r.took(step)
	before := r.at
	r.at.marks, r.at.lastTxn, r.at.rows, r.at.pending = step.marks, step.lastTxn, step.rows, step.pending
	r.at.renewed = step.renewed
	if !faulty {
		step.addTo(r.at.ahead)
		r.freshen(step)
		if len(r.holes) == 0 {
			maps.Copy(r.at.ahead, step.begun)
		}
		return step.end, nil
	}
	step.addTo(r.at.aside)
	maps.Copy(r.at.ahead, step.anew)
	r.freshen(step)
	r.anew = len(step.anew) > 0
	if from, to := before.marks.Ends(), step.marks.Ends(); !slices.Equal(from, to) {
		r.holes = append(r.holes, checkpoint.Hole{From: from, To: to, LastTxn: before.lastTxn})
	}
	return step.end, nil
}

// freshen begins the sums of accounts of which entries have left the books anew.
func (r *recentProof) freshen(step *recentStep) {
	for subject, is := range step.fresh {
		aside := r.at.aside[subject]
		r.at.ahead[subject] = checkpoint.Sum{Subject: subject}.Plus(is.Rows-aside.Rows, 0, is.Amount-aside.Amount)
	}
}

// close makes a checkpoint of what was read. Should another node have been faster, the rest is read from its checkpoint
// on.
func (r *recentProof) close(ctx context.Context) error {
	closed, before := r.at, r.from.Number
	added, err := checkpoint.Add(ctx, r.s.db, r.from, checkpoint.Checkpoint{At: r.s.clock(), Marks: closed.marks,
		LastTxn: closed.lastTxn, Holes: r.holes, Accounts: sortedKeys(closed.pending)},
		slices.Collect(maps.Values(closed.ahead)))
	if err != nil {
		return err
	}
	if r.from, err = checkpoint.Newest(ctx, r.s.db, func(string) {}); err != nil {
		return err
	}
	if !added || !maps.Equal(r.from.Marks, closed.marks) {
		r.lose(before)
		return r.begin(ctx)
	}
	r.lost, r.moved = 0, false
	r.at = newPlace(r.from)
	r.at.aside = closed.aside
	return nil
}

// lose counts a checkpoint that was not made. Another node that proves at the same time is no fault: the checkpoints
// are its own then. Where there is no newer one either, somebody removes them, or takes their place.
func (r *recentProof) lose(before int64) {
	r.lost++
	r.moved = r.moved || r.from.Number > before
	if r.lost == mostLost && !r.moved {
		r.found.add("checkpoints that cannot be made", "", "no checkpoint can be made: %d times what was written "+
			"was gone at once, or its place was taken, though no other process has made one; so each proof reads all "+
			"that came since checkpoint %d", mostLost, r.from.Number)
	}
}
