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
		is, err := confirmedProvider(ctx, q)
		return targetState{seen: strconv.FormatInt(is.line, 10)}, err
	}
	return targetState{}, fmt.Errorf("this version knows no act %q", d.Act)
}

func readLetters(ctx context.Context, q sqldb.Querier, d Deed) (l targetState, err error) {
	open, err := posting.LetterTable.List(ctx, q, "WHERE claim = ? AND resolved_at = 0 ORDER BY id LIMIT ?", d.Target,
		retryPage)
	var ids []string
	for _, one := range open {
		if d.Letter == 0 || d.Letter == one.ID {
			l.letters, ids = append(l.letters, one.ID), append(ids, strconv.FormatInt(one.ID, 10))
			l.amount += one.Amount
			l.unknown = l.unknown || hasNoAmount(one)
		}
	}
	if err == nil && len(ids) == 0 {
		err = ErrUnknownClaim
	}
	l.seen = strings.Join(ids, ",")
	return l, err
}

// hasNoAmount is posting.NoAmount of a row.
func hasNoAmount(d posting.DeadLetter) bool { return d.Kind == posting.LetterPay && d.Amount == 0 }

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
		err = s.withdrawals.endByOperators(ctx, d, l.seen, by)
	case ActProvider:
		err = s.confirmProvider(ctx, d.Target, by)
	}
	return o, err
}

// takes reports whether operators can do this with the withdrawal.
func (w Withdrawal) takes(what Act) bool {
	return w.Dead || w.State == WithdrawalHeld && what == ActBack
}

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
	resolved, why := 0, ErrUnknownClaim
	for _, id := range ids {
		one, err := s.retryLetter(ctx, id)
		switch {
		case err != nil:
			return settled, err // settled ones stay settled; the other dead letters stay open
		case one.why != nil:
			why = fmt.Errorf("%w: %w", ErrStillDead, one.why)
		case one.found:
			resolved++
			settled = append(settled, one.settled...)
		}
	}
	if resolved > 0 {
		return settled, nil
	}
	return nil, fmt.Errorf("%q: %w", claim, why)
}
