package campaigns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// round compares the sums of the live campaigns. It checks every row of campaigns that were drained and not checked
// since, or that have findings. Its error names the campaigns that could not be read; the others were checked.
func (r *Proofs) round(ctx context.Context) error {
	ids, err := r.o.Campaigns.LiveIDs(ctx)
	if err != nil {
		return err
	}
	byRow, err := r.o.Kept.Pending(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	byRow = slices.AppendSeq(byRow, maps.Keys(r.faulty)) // the sums alone do not show that a fault is gone
	r.mu.Unlock()
	ids = append(ids, byRow...)
	slices.Sort(ids)
	var unread error
	each := r.heedEach(ctx, &unread)
	for _, id := range slices.Compact(ids) {
		depth := reconcile.Sums
		if slices.Contains(byRow, id) {
			depth = reconcile.Rows
		}
		if id == "" { // all books: checked at night
			continue
		}
		rec, err := r.o.Books.ReconcileWith(ctx, id, r.o.Hot, depth)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		each(id, rec, err)
	}
	return errors.Join(unread, r.keepProofs(ctx))
}

// nightly reconciles all books by every row once a day, in UTC, with pauses that limit its share of the time.
func (r *Proofs) nightly(ctx context.Context) error {
	last, err := r.o.Kept.LastProofs(ctx)
	day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }
	if err != nil || day(last.Full.ProvedAt) == day(r.o.Clock()) {
		return err
	}
	var spent time.Duration
	var unread error
	books, err := r.o.Books.ReconcileFull(ctx, r.o.Hot, reconcile.FullOptions{
		Each: r.heedEach(ctx, &unread),
		Pause: func(ctx context.Context, took time.Duration) error {
			spent += took
			loop.Sleep(ctx, time.Duration(float64(took)*(1/r.o.Share-1)))
			return ctx.Err()
		},
	})
	if err != nil {
		return err
	}
	r.o.Log.Info("all books were reconciled", "balanced", books.Balanced, "findings", len(books.Findings), "took_ms",
		books.TookMS, "of_which_reading_ms", spent.Milliseconds())
	return errors.Join(unread, r.keepFull(ctx, books))
}

// heedEach records each campaign of a reconciliation. Campaigns that could not be read are only added to unread.
func (r *Proofs) heedEach(ctx context.Context, unread *error) reconcile.CampaignProved {
	return func(id string, rec reconcile.Reconciliation, err error) {
		switch {
		case ctx.Err() != nil:
		case err != nil:
			*unread = errors.Join(*unread, fmt.Errorf("cannot be checked: %w", err))
		default:
			r.note(ledger.Proof{Campaign: id, TookMS: rec.TookMS, Balanced: rec.Balanced, Difference: rec.Difference,
				Final: rec.Final}, rec.Balanced, rec.Fingerprint, rec.Findings,
				fmt.Sprintf("the difference is %s; ", rec.Difference))
		}
	}
}

// keepFull stores the result of a full reconciliation, and raises the alarm.
func (r *Proofs) keepFull(ctx context.Context, books reconcile.Books) error {
	r.note(ledger.Proof{TookMS: books.TookMS, Balanced: books.Balanced, Difference: books.Difference},
		len(books.Findings) == 0, books.Fingerprint, books.Findings, "")
	return r.keepProofs(ctx)
}

// keepProofs stores the results for all nodes.
func (r *Proofs) keepProofs(ctx context.Context) error {
	r.mu.Lock()
	proved := slices.Collect(maps.Values(r.proved))
	clear(r.proved)
	r.mu.Unlock()
	if len(proved) == 0 {
		return nil
	}
	return r.o.Kept.NoteProofs(ctx, proved)
}

// note records a result. It raises the alarm if there are findings and they differ from the last ones.
func (r *Proofs) note(p ledger.Proof, fits bool, fingerprint string, found []string, difference string) {
	p.ProvedAt, p.Findings = r.o.Clock(), len(found)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proved[p.Campaign] = p
	was, before := r.faulty[p.Campaign]
	switch {
	case fits && before:
		delete(r.faulty, p.Campaign)
		r.o.Log.Info("the books balance again", "campaign", p.Campaign)
	case fits, before && was == fingerprint:
	default:
		r.faulty[p.Campaign] = fingerprint
		for _, f := range found {
			r.o.Log.Error("the books do not balance", "campaign", p.Campaign, "finding", f)
		}
		r.o.Bus.Alarm("reconciliation", p.Campaign, "the books do not balance: "+difference+inShort(found))
	}
}

// inShort returns the first finding.
func inShort(found []string) string {
	switch len(found) {
	case 0:
		return "every row is as it should be"
	case 1:
		return found[0]
	}
	return fmt.Sprintf("%s; and %d more findings, see redrain reconcile", found[0], len(found)-1)
}
