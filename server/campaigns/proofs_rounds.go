package campaigns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// round compares the sums of the live campaigns, and every row of those that were drained and not proved by row since,
// or in which something is wrong. Its error says what could not be read; the rest was.
func (r *Proofs) round(ctx context.Context) error {
	ids, err := r.o.Campaigns.LiveIDs(ctx)
	if err != nil {
		return err
	}
	byRow := r.faults()
	delete(byRow, "")
	var drained []string
	if r.o.Kept != nil {
		if drained, err = r.o.Kept.Pending(ctx); err != nil {
			return err
		}
	}
	for _, id := range drained {
		byRow[id] = ""
	}
	for id := range byRow {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	r.forgetMissed(ids)
	var unread error
	for _, id := range ids {
		depth := reconcile.Sums
		if _, is := byRow[id]; is {
			depth = reconcile.Rows // the sums alone cannot tell that a fault is gone
		}
		rec, err := r.o.Books.ReconcileWith(ctx, id, r.o.Hot, depth)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		unread = errors.Join(unread, r.heed(id, rec, err))
		r.miss(id, err)
	}
	return errors.Join(unread, r.keepProofs(ctx))
}

// missed is for how many rounds a campaign could not be proved, and when that was last found.
type missed struct {
	rounds int
	at     time.Time
}

// miss counts a round of the schedule in which a campaign could not be proved because of Redis, and raises the alarm
// after some. That the database is away is no secret, and is said elsewhere.
func (r *Proofs) miss(campaign string, err error) {
	if !errors.Is(err, reconcile.ErrHot) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.missed[campaign]
	if time.Since(was.at) < r.o.Every/2 {
		return // by the other look of this round
	}
	was = missed{was.rounds + 1, time.Now()}
	r.missed[campaign] = was
	if was.rounds == unprovedRounds {
		r.o.Log.Error("a campaign cannot be proved", "campaign", campaign, "rounds", unprovedRounds, "err", err)
		r.o.Alarm("reconciliation", campaign, fmt.Sprintf("the books could not be proved for %d rounds: %v. Nothing "+
			"is known to be wrong, and nothing that is would be found", unprovedRounds, err))
	}
}

// forgetMissed drops what was missed of campaigns that are not looked at any more.
func (r *Proofs) forgetMissed(but []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(id string, _ missed) bool { return !slices.Contains(but, id) })
}

// faults are the campaigns in which something is wrong.
func (r *Proofs) faults() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.faulty)
}

// heed takes note of a campaign's reconciliation. One that could not be made changes nothing, and is returned.
func (r *Proofs) heed(campaign string, rec reconcile.Reconciliation, err error) error {
	if err != nil {
		return fmt.Errorf("cannot be checked: %w", err)
	}
	r.mu.Lock()
	r.proved[campaign] = ledger.Proof{Campaign: campaign, ProvedAt: r.o.Clock(), TookMS: rec.TookMS,
		Balanced: rec.Balanced, Findings: len(rec.Findings), Difference: rec.Difference, Final: rec.Final}
	r.mu.Unlock()
	r.note(campaign, rec.Balanced, rec.Fingerprint, rec.Findings, fmt.Sprintf("the difference is %s; ", rec.Difference))
	return nil
}

// note raises the alarm where something has begun not to fit, or does not fit in another way than before.
func (r *Proofs) note(campaign string, fits bool, fingerprint string, found []string, difference string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, before := r.faulty[campaign]
	if r.missed[campaign].rounds >= unprovedRounds {
		r.o.Log.Info("the campaign can be proved again", "campaign", campaign)
	}
	delete(r.missed, campaign)
	switch {
	case fits && before:
		delete(r.faulty, campaign)
		r.o.Log.Info("the books balance again", "campaign", campaign)
	case fits, before && was == fingerprint:
	default:
		r.faulty[campaign] = fingerprint
		for _, f := range found {
			r.o.Log.Error("the books do not balance", "campaign", campaign, "finding", f)
		}
		r.o.Alarm("reconciliation", campaign, "the books do not balance: "+difference+inShort(found))
	}
}

// inShort is the first of what was found.
func inShort(found []string) string {
	switch len(found) {
	case 0:
		return "every row is as it should be"
	case 1:
		return found[0]
	}
	return fmt.Sprintf("%s; and %d more findings, see redrain reconcile", found[0], len(found)-1)
}
