package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

// Redriven is what has become of the dead letters that RetryAll has tried.
type Redriven struct {
	Retried   int // letters tried
	Settled   int // of them: posted, or found to be posted; of a withdrawal: due again
	StillDead int
	NeedTwo   int // letters that were left out, because they need a second person
}

// retryPage is how many letters RetryAll looks up at once.
const retryPage = 100

// RetryAll tries every dead letter that waits once, in the order in which they came: of one campaign or, where that is
// "", of all; those that need a second person are only counted. tell hears of what is settled. With an error the counts
// are of what was tried until then.
func (s *Approvals) RetryAll(ctx context.Context, campaign string,
	tell func([]posting.Settlement)) (r Redriven, err error) {
	which, given := "", []any{}
	if campaign != "" {
		which, given = "campaign_id = ? AND ", []any{campaign}
	}
	if s.above != nil {
		_, err := s.db.First(ctx, []any{&r.NeedTwo}, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0 AND "+
			which+"(amount > ? OR "+posting.NoAmount+")", append(given, int64(*s.above))...)
		if err != nil {
			return r, fmt.Errorf("dead letters: %w", err)
		}
		which, given = which+"amount <= ? AND NOT "+posting.NoAmount+" AND ", append(given, int64(*s.above))
	}
	for last := int64(0); ; {
		ids, err := sqldb.Column[int64](ctx, s.db, "SELECT id FROM dead_letter WHERE resolved_at = 0 AND "+which+
			"id > ? ORDER BY id LIMIT ?", append(slices.Clone(given), last, retryPage)...)
		if err != nil || len(ids) == 0 {
			return r, sqldb.Wrap(err, "dead letters")
		}
		for _, id := range ids {
			one, err := s.letters.retryLetter(ctx, id)
			if err != nil {
				return r, err
			}
			if !one.found {
				continue // somebody else has resolved it meanwhile
			}
			r.Retried++
			if !one.resolved {
				r.StillDead++
				continue
			}
			r.Settled++
			tell(one.settled)
		}
		last = ids[len(ids)-1]
	}
}

// retried is what has become of one letter.
type retried struct {
	found    bool // it was still waiting
	resolved bool
	why      error // it was not
	settled  []posting.Settlement
}

// retryLetter tries one letter, in a transaction of its own: one that the database refuses takes no other with it.
func (s *DeadLetters) retryLetter(ctx context.Context, id int64) (r retried, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		r = retried{}
		d, waits, err := posting.LetterTable.Find(ctx, tx, "WHERE id = ? AND resolved_at = 0"+tx.ForUpdate(), id)
		if err != nil || !waits {
			return err
		}
		r.found = true
		var reason string
		r.settled, reason, err = s.redrive(ctx, tx, d)
		if err != nil || reason != "" {
			r.why = errors.New(reason)
			return err
		}
		r.resolved = true
		if _, err := posting.ResolveLetters(ctx, tx, s.clock(), d.ID); err != nil {
			return err
		}
		is := StateSettled
		if d.Kind == posting.LetterWithdrawal {
			is = StateFailed // and tried again: only the provider settles it
		}
		before := letterState(d, StateDead)
		if len(r.settled) == 1 {
			d.Amount = r.settled[0].Amount // which nobody may have known when it was written
		}
		return auditChange(ctx, tx, s.clock(), before, letterState(d, is))
	})
	switch joined := sqldb.IsJoined(ctx); { // where it is not the transaction was rolled back, so the letter waits on
	case err == nil:
		return r, nil
	case posting.MayBePoison(err) && !joined:
		return retried{found: true, why: errors.New(sqldb.Storable(err.Error(), posting.MaxReason))}, nil
	default:
		return retried{}, fmt.Errorf("retry of dead letter %d: %w", id, err)
	}
}

// redrive does what a letter asks for, each kind in its way, or says why it cannot.
func (s *DeadLetters) redrive(ctx context.Context, tx *sqldb.Tx,
	d posting.DeadLetter) (settled []posting.Settlement, reason string, err error) {
	switch d.Kind {
	case posting.LetterPay, posting.LetterReclaim, posting.LetterForged, posting.LetterMessage:
		return s.poster.PostLetter(ctx, tx, d)
	case posting.LetterWithdrawal:
		return nil, "", s.withdrawals.revive(ctx, tx, d.Claim)
	default:
		return nil, fmt.Sprintf("this version knows no letters of kind %q", d.Kind), nil
	}
}

// letterState is a dead letter as the audit log compares it.
func letterState(d posting.DeadLetter, is ClaimState) change {
	return change{target: "claim:" + d.Claim, state: map[string]any{
		"state": is, "letter": d.ID, "kind": d.Kind, "entry": d.Source, "user": d.User, "amount": d.Amount,
		"reason": d.Reason,
	}}
}
