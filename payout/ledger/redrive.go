package ledger

import (
	"context"
	"errors"
	"fmt"

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

// RetryAll tries every open dead letter of a campaign, or all if campaign is "", once, the oldest first. It only counts
// those that need a second person. It calls notify with the settled ones. With an error it returns the counts so far.
func (s *Approvals) RetryAll(ctx context.Context, campaign string,
	notify func([]posting.Settlement)) (r Redriven, err error) {
	var where sqldb.Where
	where.And("resolved_at = 0")
	if campaign != "" {
		where.And("campaign_id = ?", campaign)
	}
	for cursor := ""; ; {
		list, next, err := posting.LetterTable.ListPage(ctx, s.db, where, "id", cursor, retryPage)
		if err != nil {
			return r, fmt.Errorf("list dead letters: %w", err)
		}
		for _, d := range list {
			if s.needTwo(ActRetry, targetState{amount: d.Amount, unknown: hasNoAmount(d)}) {
				r.NeedTwo++
				continue
			}
			one, err := s.letters.retryLetter(ctx, d.ID)
			if err != nil {
				return r, err
			}
			if !one.found {
				continue // another operator has resolved it meanwhile
			}
			r.Retried++
			if one.why != nil {
				r.StillDead++
				continue
			}
			r.Settled++
			notify(one.settled)
		}
		if cursor = next; next == "" {
			return r, nil
		}
	}
}

type retried struct {
	found   bool  // it was still open
	why     error // the reason why it stays open; nil: it was resolved
	settled []posting.Settlement
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
		is := StateSettled
		if d.Kind == posting.LetterWithdrawal {
			is = StateFailed // only the provider settles it
			err = s.withdrawals.revive(ctx, tx, d.Claim)
		} else {
			r.settled, reason, err = s.poster.PostLetter(ctx, tx, d)
		}
		if err != nil {
			return err
		}
		if reason != "" {
			r.why = errors.New(reason)
			return nil
		}
		if _, err := posting.ResolveLetters(ctx, tx, s.clock(), d.ID); err != nil {
			return err
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

func letterState(d posting.DeadLetter, is ClaimState) change {
	return change{target: "claim:" + d.Claim, state: map[string]any{
		"state": is, "letter": d.ID, "kind": d.Kind, "entry": d.Source, "user": d.User, "amount": d.Amount,
		"reason": d.Reason,
	}}
}
