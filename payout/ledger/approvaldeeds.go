package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// targetState is the present state of an operation's target.
type targetState struct {
	amount  rain.Money
	unknown bool    // the amount may be too low: dead letters of a campaign with an invalid row have none
	seen    string  // changes with every change that matters for the decision
	letters []int64 // ids of the dead letters
	done    bool    // it was done before and moves no money
}

// readTarget reads the state of an operation's target. It fails if the operation is invalid.
func (s *Approvals) readTarget(ctx context.Context, q sqldb.Querier, d Deed) (targetState, error) {
	switch d.Act {
	case ActDeposit:
		_, done, err := depositTable.Find(ctx, q, "WHERE sponsor = ? AND reference = ?", d.Target, d.Reference)
		return targetState{amount: d.Amount, done: done}, err
	case ActRetry, ActDismiss:
		return readLetters(ctx, q, d)
	case ActPaid, ActBack:
		return readWithdrawalTarget(ctx, q, d)
	case ActProvider:
		return readProvider(ctx, q)
	}
	return targetState{}, fmt.Errorf("this version knows no act %q", d.Act)
}

func readLetters(ctx context.Context, q sqldb.Querier, d Deed) (l targetState, err error) {
	var ids []string
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var amount rain.Money
		var unknown bool
		if err := scan(&id, &amount, &unknown); err != nil {
			return err
		}
		if d.Letter == 0 || d.Letter == id {
			l.letters, ids = append(l.letters, id), append(ids, strconv.FormatInt(id, 10))
			l.amount += amount
			l.unknown = l.unknown || unknown
		}
		return nil
	}, "SELECT id, amount, "+posting.NoAmount+" FROM dead_letter WHERE claim = ? AND resolved_at = 0 "+
		"ORDER BY id LIMIT ?", d.Target, retryPage)
	if err == nil && len(ids) == 0 {
		err = ErrUnknownClaim
	}
	l.seen = strings.Join(ids, ",")
	return l, err
}

func readWithdrawalTarget(ctx context.Context, q sqldb.Querier, d Deed) (l targetState, err error) {
	// The history first: then an event between the two reads makes the order outdated.
	l.seen, err = newestEvent(ctx, q, d.Target)
	if err != nil {
		return l, err
	}
	w, err := withdrawalTable.Get(ctx, q, ErrUnknownWithdrawal, "WHERE id = ?", d.Target)
	if err == nil && !w.takes(d.Act) {
		err = ErrNotWaiting
	}
	l.amount = w.Amount
	return l, err
}

// carryOut does an operation on a target in state l.
func (s *Approvals) carryOut(ctx context.Context, d Deed, l targetState, by Person) (o Outcome, err error) {
	switch d.Act {
	case ActDeposit:
		o.Balance, err = s.sponsors.Deposit(ctx, d.Target, d.Reference, d.Amount)
	case ActRetry:
		o.Settled, err = s.letters.retryLetters(ctx, d.Target, l.letters)
	case ActDismiss:
		o.Dismissed, err = s.letters.dismissLetters(ctx, d.Target, l.letters, by.Reason)
	case ActPaid, ActBack:
		err = s.withdrawals.endBy(ctx, d, l.seen, by)
	case ActProvider:
		err = s.confirmProvider(ctx, d.Target, by)
	}
	return o, err
}

// takes reports whether operators can do this with the withdrawal.
func (w Withdrawal) takes(what Act) bool {
	return w.Dead || w.State == WithdrawalHeld && what == ActBack
}

// newestEvent returns the number of a withdrawal's newest event.
func newestEvent(ctx context.Context, q sqldb.Querier, id string) (string, error) {
	var newest int64
	_, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(id), 0) FROM withdrawal_event WHERE withdrawal_id = ?",
		id)
	return strconv.FormatInt(newest, 10), err
}

// retryLetters retries dead letters of a claim, each in its own transaction. It returns the settled ones, also with
// an error. It fails with ErrStillDead and the reason if none could be posted. A retried withdrawal is due again, and
// settles nothing.
func (s *DeadLetters) retryLetters(ctx context.Context, claim string,
	ids []int64) (settled []posting.Settlement, err error) {
	var stillDead error
	resolved := 0
	for _, id := range ids {
		one, err := s.retryLetter(ctx, id)
		switch {
		case err != nil:
			return settled, err // settled ones stay settled; the other dead letters stay open
		case one.resolved:
			resolved++
			settled = append(settled, one.settled...)
		default:
			stillDead = one.why
		}
	}
	switch {
	case resolved > 0:
		return settled, nil
	case stillDead != nil:
		return nil, fmt.Errorf("%q: %w: %w", claim, ErrStillDead, stillDead)
	default:
		return nil, fmt.Errorf("%q: %w", claim, ErrUnknownClaim)
	}
}
