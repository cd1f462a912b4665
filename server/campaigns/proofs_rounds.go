package campaigns

import (
	"cmp"
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
	ids, err := r.o.LiveIDs(ctx)
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
	each := r.noteEach(ctx, &unread)
	for _, id := range slices.Compact(ids) {
		depth := reconcile.Sums
		if slices.Contains(byRow, id) {
			depth = reconcile.Rows
		}
		if id == "" { // all books: checked at night
			continue
		}
		rec, err := r.o.Books.ReconcileCampaign(ctx, id, r.o.Live, depth)
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
	var unread error
	books, err := r.o.Books.ReconcileFull(ctx, r.o.Live, reconcile.FullOptions{
		Each: r.noteEach(ctx, &unread),
		Pause: func(ctx context.Context, took time.Duration) error {
			loop.Sleep(ctx, time.Duration(float64(took)*(1/r.o.Share-1)))
			return ctx.Err()
		},
	})
	if err != nil {
		return err
	}
	r.o.Log.Info("all books were reconciled", "balanced", books.Balanced, "findings", len(books.Findings), "took_ms",
		books.TookMS)
	return errors.Join(unread, r.keepFull(ctx, books))
}

// noteEach notes each campaign of a reconciliation. Campaigns that could not be read are only added to unread.
func (r *Proofs) noteEach(ctx context.Context, unread *error) reconcile.CampaignProved {
	return func(id string, rec reconcile.Reconciliation, err error) {
		switch {
		case ctx.Err() != nil:
		case err != nil:
			*unread = errors.Join(*unread, fmt.Errorf("cannot be checked: %w", err))
		default:
			r.note(ledger.Proof{Campaign: id, TookMS: rec.TookMS, Balanced: rec.Balanced, Difference: rec.Difference,
				Final: rec.Final}, rec.Balanced, rec.Findings, fault{fingerprint: rec.Fingerprint,
				difference: rec.Difference})
		}
	}
}

// keepFull stores the result of a full reconciliation, and raises the alarm.
func (r *Proofs) keepFull(ctx context.Context, books reconcile.Books) error {
	r.note(ledger.Proof{TookMS: books.TookMS, Balanced: books.Balanced, Difference: books.Difference},
		len(books.Findings) == 0, books.Findings, fault{fingerprint: books.Fingerprint})
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
func (r *Proofs) note(p ledger.Proof, fits bool, found []string, is fault) {
	p.ProvedAt, p.Findings, is.findings = r.o.Clock(), len(found), len(found)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proved[p.Campaign] = p
	was, before := r.faulty[p.Campaign]
	r.faulty[p.Campaign] = is
	if fits {
		delete(r.faulty, p.Campaign)
	}
	r.show()
	switch {
	case fits && before:
		r.o.Log.Info("the books balance again", "campaign", p.Campaign)
	case fits, before && was.fingerprint == is.fingerprint:
	default:
		for _, f := range found {
			r.o.Log.Error("the books do not balance", "campaign", p.Campaign, "finding", f)
		}
		r.o.Bus.Alarm("reconciliation", p.Campaign, "the books do not balance: "+is.inShort(p.Campaign, found))
	}
}

// inShort returns the difference of a campaign, and the first finding.
func (f fault) inShort(campaign string, found []string) string {
	text := "every row is as it should be"
	if len(found) > 0 {
		text = found[0]
	}
	if len(found) > 1 {
		text += fmt.Sprintf("; and %d more findings, see redrain reconcile", len(found)-1)
	}
	if campaign == "" {
		return text
	}
	return fmt.Sprintf("the difference is %s; %s", f.difference, text)
}

const (
	// staleCampaign is the age at which a campaign's reconciliation is too old: rounds of the schedule, beside its
	// duration.
	staleCampaign = 10
	// staleEverything is the age at which a full reconciliation is too old, beside its duration.
	staleEverything = 48 * time.Hour
)

// Proved holds the last reconciliations by any node.
type Proved struct {
	Everything ledger.Proof   `json:"everything"` // every row of all books
	Oldest     int64          `json:"oldest"`     // Unix ms, of the campaign reconciled the longest ago; 0: none
	Stale      bool           `json:"stale"`      // one of these is too old
	Campaigns  []ledger.Proof `json:"campaigns"`
}

// Proved returns the last reconciliations; nil before this node's first look.
func (r *Proofs) Proved() *Proved { return r.last.Load() }

// lookAtAge raises an alarm if more reconciliations are too old than at the last look. Each node does so: the one with
// the lease may be frozen, or missing.
func (r *Proofs) lookAtAge(ctx context.Context) error {
	last, err := r.o.Kept.LastProofs(ctx)
	if err != nil {
		return err
	}
	now := r.o.Clock()
	r.since = cmp.Or(r.since, now) // after a start, leave time for a reconciliation
	is, late := &Proved{Everything: last.Full, Campaigns: last.Live}, []ledger.Proof{}
	isLate := func(p ledger.Proof, most time.Duration) bool {
		return now-max(p.ProvedAt, r.since) > most.Milliseconds()+3*p.TookMS
	}
	if r.o.Share > 0 && isLate(last.Full, staleEverything) {
		late = append(late, last.Full)
	}
	for _, p := range last.Live {
		if p.ProvedAt != 0 && (is.Oldest == 0 || p.ProvedAt < is.Oldest) {
			is.Oldest = p.ProvedAt
		}
		if isLate(p, staleCampaign*r.o.Every) {
			late = append(late, p)
		}
	}
	if len(late) > r.late {
		r.alarmLate(late)
	}
	r.late, is.Stale = len(late), len(late) > 0
	r.last.Store(is)
	r.everythingAt.Set(float64(last.Full.ProvedAt) / 1000)
	r.everythingTook.Set(float64(last.Full.TookMS) / 1000)
	r.oldestAt.Set(float64(is.Oldest) / 1000)
	return nil
}

// alarmLate raises the alarm about reconciliations that are too old.
func (r *Proofs) alarmLate(late []ledger.Proof) {
	oldest := slices.MinFunc(late, func(a, b ledger.Proof) int { return cmp.Compare(a.ProvedAt, b.ProvedAt) })
	what, when := "all books were", "never"
	if oldest.Campaign != "" {
		what = "the books of the campaign were"
	}
	if oldest.ProvedAt > 0 {
		when = time.UnixMilli(oldest.ProvedAt).UTC().Format(time.RFC3339)
	}
	r.o.Log.Error("the books are not reconciled any more", "campaign", oldest.Campaign, "proved_at", oldest.ProvedAt)
	r.o.Bus.Alarm("reconciliation", oldest.Campaign, fmt.Sprintf("%s reconciled last at %s (%d reconciliations are "+
		"late): check whether a node with the role operator runs, and its log", what, when, len(late)))
}
