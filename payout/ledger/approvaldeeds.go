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

// looked is how what a deed is about is now.
type looked struct {
	amount  rain.Money
	unknown bool    // it may be about more than amount: letters of a campaign whose row is not to be believed name none
	seen    string  // changes whenever that changes on which the deed was decided
	letters []int64 // that the deed is about
	done    bool    // it was done before, so that it moves nothing
}

// look finds what a deed is about, and refuses what makes no sense.
func (s *Approvals) look(ctx context.Context, q sqldb.Querier, d Deed) (looked, error) {
	switch d.Act {
	case ActDeposit:
		_, done, err := depositTable.Find(ctx, q, "WHERE sponsor = ? AND reference = ?", d.Target, d.Reference)
		return looked{amount: d.Amount, done: done}, err
	case ActRetry, ActDismiss:
		return lookLetters(ctx, q, d)
	case ActPaid, ActBack:
		return lookWithdrawal(ctx, q, d)
	case ActProvider:
		return lookProvider(ctx, q)
	}
	return looked{}, fmt.Errorf("this version knows no act %q", d.Act)
}

func lookLetters(ctx context.Context, q sqldb.Querier, d Deed) (l looked, err error) {
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

func lookWithdrawal(ctx context.Context, q sqldb.Querier, d Deed) (l looked, err error) {
	// The history first: what happens between the two questions is then something that the order has not seen.
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

// carryOut does a deed, as it was looked at.
func (s *Approvals) carryOut(ctx context.Context, d Deed, l looked, by Person) (o Outcome, err error) {
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

// takes tells whether operators can do this with a withdrawal.
func (w Withdrawal) takes(what Act) bool {
	return w.Dead || w.State == WithdrawalHeld && what == ActBack
}

// newestEvent is the number of the newest line of a withdrawal's history.
func newestEvent(ctx context.Context, q sqldb.Querier, id string) (string, error) {
	var newest int64
	_, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(id), 0) FROM withdrawal_event WHERE withdrawal_id = ?",
		id)
	return strconv.FormatInt(newest, 10), err
}

// retryLetters classifies some letters of a claim again, each in a transaction of its own, and posts what can be posted
// now. It returns what is settled, also with an error; ErrStillDead (with the reason) where none of them could be
// posted. A dead withdrawal is due again after it, and nothing is settled by that.
func (s *DeadLetters) retryLetters(ctx context.Context, claim string,
	ids []int64) (settled []posting.Settlement, err error) {
	var stillDead error
	resolved := 0
	for _, id := range ids {
		one, err := s.retryLetter(ctx, id)
		switch {
		case err != nil:
			return settled, err // what is settled is settled; the other letters wait on
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
