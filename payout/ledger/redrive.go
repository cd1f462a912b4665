package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

// Redriven is the result of RetryAll.
type Redriven struct {
	Retried   int // dead letters tried
	Settled   int // posted, or found to be posted; a withdrawal is due again
	StillDead int
	NeedTwo   int // dead letters that need a second person and were skipped
}

// retryPage is the number of dead letters in one page of RetryAll.
const retryPage = 100

// RetryAll tries every open dead letter once, the oldest first: those of one campaign, or all if campaign is "". It
// only counts those that need a second person. It calls notify with the settled ones. With an error it returns the
// counts so far.
func (s *Approvals) RetryAll(ctx context.Context, campaign string,
	notify func([]posting.Settlement)) (r Redriven, err error) {
	which, given := "", []any{}
	if campaign != "" {
		which, given = "campaign_id = ? AND ", []any{campaign}
	}
	if s.above != nil {
		_, err := s.db.First(ctx, []any{&r.NeedTwo}, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0 AND "+
			which+"(amount > ? OR "+posting.NoAmount+")", append(given, int64(*s.above))...)
		if err != nil {
			return r, fmt.Errorf("list dead letters: %w", err)
		}
		which, given = which+"amount <= ? AND NOT "+posting.NoAmount+" AND ", append(given, int64(*s.above))
	}
	for last := int64(0); ; {
		ids, err := sqldb.Column[int64](ctx, s.db, "SELECT id FROM dead_letter WHERE resolved_at = 0 AND "+which+
			"id > ? ORDER BY id LIMIT ?", append(slices.Clone(given), last, retryPage)...)
		if err != nil || len(ids) == 0 {
			return r, sqldb.Wrap(err, "list dead letters")
		}
		for _, id := range ids {
			one, err := s.letters.retryLetter(ctx, id)
			if err != nil {
				return r, err
			}
			if !one.found {
				continue // another operator has resolved it meanwhile
			}
			r.Retried++
			if !one.resolved {
				r.StillDead++
				continue
			}
			r.Settled++
			notify(one.settled)
		}
		last = ids[len(ids)-1]
	}
}

// retried is the result of one retry.
type retried struct {
	found    bool // it was still open
	resolved bool
	why      error // the reason why it stays open
	settled  []posting.Settlement
}

// retryLetter retries one dead letter in its own transaction, so that a refusal of the database affects no other.
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
			is = StateFailed // only the provider settles it
		}
		before := letterState(d, StateDead)
		if len(r.settled) == 1 {
			d.Amount = r.settled[0].Amount // it may have been unknown when it was written
		}
		return auditChange(ctx, tx, s.clock(), before, letterState(d, is))
	})
	switch joined := sqldb.IsJoined(ctx); { // otherwise the transaction was rolled back, and the dead letter stays open
	case err == nil:
		return r, nil
	case posting.MayBePoison(err) && !joined:
		return retried{found: true, why: errors.New(sqldb.Storable(err.Error(), posting.MaxReason))}, nil
	default:
		return retried{}, fmt.Errorf("retry dead letter %d: %w", id, err)
	}
}

// redrive retries a dead letter by its kind, or returns the reason why it cannot.
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

// letterState is a dead letter as the audit records it.
func letterState(d posting.DeadLetter, is ClaimState) change {
	return change{target: "claim:" + d.Claim, state: map[string]any{
		"state": is, "letter": d.ID, "kind": d.Kind, "entry": d.Source, "user": d.User, "amount": d.Amount,
		"reason": d.Reason,
	}}
}
