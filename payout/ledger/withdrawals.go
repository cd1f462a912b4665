package ledger

import (
	"context"
	"errors"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Withdrawals are the withdrawals' rows: the queue of what is to be paid outside, and what has become of it.
type Withdrawals struct {
	db    *sqldb.DB
	clock rain.Clock
}

// WithdrawalState is what has become of a withdrawal.
type WithdrawalState string

// The states of a withdrawal. Pending ends as one of the others and never changes again.
const (
	WithdrawalPending WithdrawalState = "pending" // out of the player's account; the provider's answer is awaited
	WithdrawalPaid    WithdrawalState = "paid"
	WithdrawalFailed  WithdrawalState = "failed" // refused for good; the money is back in the player's account
)

// Withdrawal is money that a player takes out.
type Withdrawal struct {
	ID         string
	User       string
	Amount     rain.Money
	State      WithdrawalState
	Dead       bool   // pending, but no longer tried: a dead letter
	Attempts   int    // tries begun since it was made or redriven
	NextAt     int64  // when it is tried next, Unix ms; during a try, when the lease on it ends
	LastError  string // why the last try failed; of a failed one, why it was refused
	Reference  string // the provider's, once paid
	CreatedAt  int64  // Unix ms
	FinishedAt int64  // when it was paid or failed, Unix ms; 0 while it is pending
}

func withdrawKey(id string) string { return "withdraw:" + id }
func returnKey(id string) string   { return "return:" + id }

// Withdraw takes money out of a player's account, at once and all of it or not at all, and leaves it to the Payer
// to have it paid outside. The id belongs to the request: asked for again with the same id it finds what was made,
// in whatever state that is by now, and moves nothing. balance is the player's.
//
// The errors are ErrInsufficientFunds, ErrInvalidAmount, and ErrIdempotencyUnequal where the id stands for another
// withdrawal. After any other error it is open whether it was made; calling again is right.
func (s *Withdrawals) Withdraw(ctx context.Context, id, user string,
	amount rain.Money) (w Withdrawal, balance rain.Money, err error) {
	if err := rain.CheckUser(user); err != nil {
		return w, 0, fmt.Errorf("withdrawal %s: %w", id, err)
	}
	if amount < 1 || amount > rain.MaxBudget {
		return w, 0, fmt.Errorf("withdrawal of %d: %w", amount, ErrInvalidAmount)
	}
	out := booking.Move(booking.KindWithdraw, withdrawKey(id), booking.UserAccount(user), booking.World, amount)
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		columns := []string{"id", "user_id", "amount", "state", "next_at", "created_at", "txn_id"}
		_, err := booking.BookOnce(ctx, tx, now, out, func(b booking.Booked) error {
			row := [][]any{{id, user, int64(amount), string(WithdrawalPending), now, now, b.IDs[out.Key]}}
			return tx.Insert(ctx, "withdrawal", columns, row, sqldb.Merge{})
		})
		if errors.Is(err, booking.ErrKeyReused) {
			return ErrIdempotencyUnequal
		}
		if err == nil {
			w, _, err = readWithdrawal(ctx, tx, id)
		}
		if err == nil {
			balance, _, err = booking.BalanceOf(ctx, tx, booking.UserAccount(user))
		}
		return err
	})
	if err != nil {
		return Withdrawal{}, 0, fmt.Errorf("withdrawal %s: %w", id, err)
	}
	return w, balance, nil
}

const withdrawalSelect = "SELECT id, user_id, amount, state, dead, attempts, next_at, last_error, reference, " +
	"created_at, finished_at FROM withdrawal "

func scanWithdrawal(scan sqldb.Scan) (w Withdrawal, err error) {
	err = scan(&w.ID, &w.User, &w.Amount, &w.State, &w.Dead, &w.Attempts, &w.NextAt, &w.LastError, &w.Reference,
		&w.CreatedAt, &w.FinishedAt)
	return w, err
}

func readWithdrawal(ctx context.Context, q sqldb.Querier, id string) (w Withdrawal, found bool, err error) {
	list, err := sqldb.List(ctx, q, scanWithdrawal, withdrawalSelect+"WHERE id = ?", id)
	if err != nil || len(list) == 0 {
		return Withdrawal{}, false, err
	}
	return list[0], true, nil
}

// Withdrawal is one withdrawal; ErrUnknownWithdrawal where there is none.
func (s *Withdrawals) Withdrawal(ctx context.Context, id string) (Withdrawal, error) {
	w, found, err := readWithdrawal(ctx, s.db, id)
	if err == nil && !found {
		err = ErrUnknownWithdrawal
	}
	if err != nil {
		return Withdrawal{}, fmt.Errorf("withdrawal %q: %w", id, err)
	}
	return w, nil
}

// WithdrawalQuery says which withdrawals to list.
type WithdrawalQuery struct {
	User  string          // "" for everybody's
	State WithdrawalState // "" for all
	After string          // the cursor; "" begins
	Limit int             // at least 1
}

// ListWithdrawals lists withdrawals, newest first. next is empty on the last page.
func (s *Withdrawals) ListWithdrawals(ctx context.Context,
	q WithdrawalQuery) (list []Withdrawal, next string, err error) {
	where, args := "WHERE 1 = 1 ", []any{}
	if q.User != "" {
		where += "AND user_id = ? "
		args = append(args, q.User)
	}
	if q.State != "" {
		where += "AND state = ? "
		args = append(args, string(q.State))
	}
	if q.After != "" {
		at, id, ok := cutCursor(q.After)
		if !ok {
			return nil, "", ErrBadCursor
		}
		where += "AND created_at <= ? AND (created_at < ? OR id < ?) "
		args = append(args, at, at, id)
	}
	list, err = sqldb.List(ctx, s.db, scanWithdrawal,
		withdrawalSelect+where+"ORDER BY created_at DESC, id DESC LIMIT ?", append(args, q.Limit+1)...)
	if err != nil {
		return nil, "", fmt.Errorf("listing withdrawals: %w", err)
	}
	list, next = page(list, q.Limit, func(w Withdrawal) string { return joinCursor(w.CreatedAt, w.ID) })
	return list, next, nil
}

// CountPending counts the withdrawals that are neither paid nor failed, dead letters among them.
func (s *Withdrawals) CountPending(ctx context.Context) (n int64, err error) {
	_, err = s.db.First(ctx, []any{&n}, "SELECT COUNT(*) FROM withdrawal WHERE state = ?", string(WithdrawalPending))
	return n, err
}
