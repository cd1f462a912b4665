package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
)

// A process leases a try: it raises tries and sets next_at, the end of the lease. The count of tries never falls, so
// it identifies the try's lease, however long a node was frozen and whatever its clock says. The lease also ends when
// an operator changes the state or next_at. A refusal or a new try is written only under the lease. A payment by the
// receiver is always written.
//
// The first try binds a withdrawal to a receiver before it is sent. A receiver that was asked may have paid, whatever
// it answered, so no other receiver is ever asked.

// Errors at the end of a try.
var (
	// ErrLeaseLost means that another try has taken over, which will get the provider's answer itself.
	ErrLeaseLost = errors.New("another try has begun meanwhile")
	// ErrPaidTwice means that a provider paid a withdrawal whose money was returned to the player.
	ErrPaidTwice = errors.New("the provider reports a payment of this withdrawal, but its money was returned to the " +
		"player: the provider had refused it for good, or operators returned it")
	// ErrNotAsked is the error of a payment by a receiver that was not asked.
	ErrNotAsked = errors.New("a withdrawal is paid only by the receiver that it was sent to")
)

// LeaseDue takes at most limit due withdrawals. It takes those sent to this receiver. If this receiver is confirmed,
// or none ever was, it also takes unsent ones. During an open restore it takes none. It binds each to the receiver and
// counts its try, so an aborted try counts, too. The withdrawal is due again when its lease ends.
func (s *Withdrawals) LeaseDue(ctx context.Context, receiver string, limit int,
	lasting time.Duration) (taken []Withdrawal, err error) {
	now, states := s.clock(), triedStates
	// Outside a transaction: mostly no withdrawal is due, and SQLite has one writer.
	due, err := dueFor(ctx, s.db, receiver, states, now, 1, "")
	if err != nil || len(due) == 0 {
		return nil, sqldb.Wrap(err, "find due withdrawals")
	}
	if restore, err := newestRestore(ctx, s.db); err != nil || restore.Open {
		return nil, err
	}
	confirmed, err := confirmedProvider(ctx, s.db)
	if err != nil {
		return nil, err
	}
	if confirmed.line != 0 && confirmed.provider != providerName(receiver) {
		states = sentStates
		if due, err := dueFor(ctx, s.db, receiver, states, now, 1, ""); err != nil || len(due) == 0 {
			return nil, err
		}
	}
	until := now + min(lasting, LongestWait).Milliseconds()
	find := func(ctx context.Context, tx *sqldb.Tx, n int) ([]Withdrawal, error) {
		return dueFor(ctx, tx, receiver, states, now, n, tx.SkipLocked()) // other nodes take the locked ones
	}
	return s.take(ctx, receiver, now, until, limit, find)
}

// LongestWait is the longest delay of a try, and the longest lease. A later time comes from a tampered row or a wrong
// clock, and the withdrawal is due at once.
const LongestWait = time.Hour

// waitSlack is an ample bound for the difference of nodes' clocks.
const waitSlack = time.Minute

// later returns the time of a delayed try.
func (s *Withdrawals) later(after time.Duration) int64 {
	return s.clock() + min(after, LongestWait).Milliseconds()
}

// triedStates are the states with tries. In sentStates the receiver was asked before.
var (
	triedStates = []WithdrawalState{WithdrawalRequested, WithdrawalSent, WithdrawalAction}
	sentStates  = triedStates[1:]
)

// dueFor reads the withdrawals that are due for a receiver, including those with a delay over LongestWait. It uses
// two statements for each state: for both at once SQLite would read the whole state.
func dueFor(ctx context.Context, q sqldb.Querier, receiver string, states []WithdrawalState, now int64, limit int,
	lock string) (due []Withdrawal, err error) {
	far := now + (LongestWait + waitSlack).Milliseconds()
	for _, state := range states {
		for i, when := range []string{"next_at <= ?", "next_at > ?"} {
			some, err := withdrawalTable.List(ctx, q, "WHERE state = ? AND dead = 0 AND "+when+
				" AND receiver IN ('', ?) ORDER BY next_at, id LIMIT ?"+lock, string(state), []int64{now, far}[i],
				receiver, limit)
			if err != nil {
				return nil, err
			}
			due = append(due, some...)
		}
	}
	slices.SortStableFunc(due, func(a, b Withdrawal) int { return cmp.Compare(a.NextAt, b.NextAt) })
	return due[:min(len(due), limit)], nil
}

// take leases at most limit withdrawals of those that find returns.
func (s *Withdrawals) take(ctx context.Context, receiver string, now, until int64, limit int,
	find func(ctx context.Context, tx *sqldb.Tx, n int) ([]Withdrawal, error)) (taken []Withdrawal, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		taken = nil
		turns, err := s.takeTurns(ctx, tx, receiver, now, limit)
		if err != nil || turns.count == 0 {
			return err
		}
		due, err := find(ctx, tx, turns.count)
		if err != nil {
			return err
		}
		for _, w := range due {
			was := w
			n, err := s.lease(ctx, tx, &w, receiver, now, until)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			taken = append(taken, w)
			if was.State == w.State {
				continue
			}
			err = writeEvent(ctx, tx, now, w.ID, WithdrawalEvent{State: w.State, Actor: byRedrain,
				Reason: "sent to " + receiver})
			if err != nil {
				return err
			}
		}
		return s.assignTurns(ctx, tx, receiver, turns, taken)
	})
	if err != nil {
		return nil, fmt.Errorf("lease withdrawals: %w", err)
	}
	return taken, nil
}

// lease takes one withdrawal. n is 0 if it has changed since it was read.
func (s *Withdrawals) lease(ctx context.Context, tx *sqldb.Tx, w *Withdrawal, receiver string,
	now, until int64) (n int64, err error) {
	was, tryEnds := *w, int64(0)
	if s.pace.InFlight > 0 {
		tryEnds = until
	}
	w.Attempts, w.Tries, w.NextAt, w.Receiver = w.Attempts+1, w.Tries+1, until, receiver
	w.AskedBefore, w.SentAt = w.SentAt != 0, cmp.Or(w.SentAt, now)
	if w.State == WithdrawalRequested {
		w.State = WithdrawalSent
	}
	return tx.Exec(ctx, "UPDATE withdrawal SET state = ?, attempts = ?, tries = ?, next_at = ?, try_ends = ?, "+
		"receiver = ?, sent_at = ? "+underLease+" AND receiver IN ('', ?)",
		append(leased(was, string(w.State), w.Attempts, w.Tries, w.NextAt, tryEnds, receiver, w.SentAt), receiver)...)
}

// underLease matches a row only if no other process changed it since leased's w was read.
const underLease = "WHERE id = ? AND dead = 0 AND state = ? AND state IN ('requested', 'sent', 'action_required') " +
	"AND tries = ? AND next_at = ?"

// leased returns the arguments of a statement that sets values underLease.
func leased(w Withdrawal, values ...any) []any {
	return append(values, w.ID, string(w.State), w.Tries, w.NextAt)
}

// RecordPaid records that the provider has paid, even if that is late and the withdrawal is a dead letter.
func (s *Withdrawals) RecordPaid(ctx context.Context, w Withdrawal, reference string) error {
	return s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		now := s.clock()
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'paid', dead = 0, last_error = '', reference = ?, "+
			"finished_at = ? WHERE id = ? AND state IN ('sent', 'action_required') AND receiver = ? AND receiver <> ''",
			sqldb.Storable(reference, 200), now, w.ID, w.Receiver)
		if err != nil {
			return err
		}
		if n == 1 {
			return s.bookEnd(ctx, tx, w, WithdrawalEvent{State: WithdrawalPaid, Actor: byRedrain,
				Reason: "paid by " + w.Receiver})
		}
		switch {
		case is.State.Brief() == WithdrawalFailed:
			return ErrPaidTwice
		case is.State != WithdrawalPaid: // otherwise the answer of an earlier call was lost
			return ErrNotAsked
		}
		return nil
	})
}

// bookEnd books an ended withdrawal's money, to world or back to the player, and resolves its dead letters.
func (s *Withdrawals) bookEnd(ctx context.Context, tx *sqldb.Tx, w Withdrawal, e WithdrawalEvent) error {
	from, t, column := booking.ClearingAccount(w.User), booking.Txn{}, "paid_id"
	if e.State == WithdrawalPaid {
		t = booking.Move(booking.KindPaid, "paid:"+w.ID, from, booking.World, w.Amount)
	} else {
		t = booking.Move(booking.KindReturn, "return:"+w.ID, from, booking.UserAccount(w.User), w.Amount)
		column = "return_id"
	}
	now := s.clock()
	ended, _, err := readWithdrawal(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	ended.Action = Action{} // the update below clears the action, so the hash must not include it
	if err := writeEvent(ctx, tx, now, w.ID, e); err != nil {
		return err
	}
	if t.Papers, err = endedPapers(ctx, tx, ended); err != nil {
		return err
	}
	_, err = booking.Book(ctx, tx, now, []booking.Txn{t}, func(b booking.Booked) error {
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET "+column+" = ?, action_kind = '', action_url = '', "+
			"action_data = '', action_until = 0 WHERE id = ?", b.IDs[t.Key], w.ID)
		if err != nil {
			return err
		}
		return resolveLetters(ctx, tx, w.ID, now)
	})
	return err
}

// RecordRefused returns the money to the player, once, and only under the try's lease.
func (s *Withdrawals) RecordRefused(ctx context.Context, w Withdrawal, reason string) error {
	return s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'refused', finished_at = ?, last_error = ? "+underLease+
			" AND state IN ('sent', 'action_required')",
			leased(w, s.clock(), sqldb.Storable(reason, posting.MaxReason))...)
		if err != nil {
			return err
		}
		if n == 1 {
			return s.bookEnd(ctx, tx, w, WithdrawalEvent{State: WithdrawalRefused, Actor: byRedrain, Reason: reason})
		}
		if is.State != WithdrawalRefused { // otherwise the answer of an earlier call was lost
			return ErrLeaseLost
		}
		return nil
	})
}

// Waiting is a receiver's answer that it has accepted the payment and has neither made nor refused it.
type Waiting struct {
	State     WithdrawalState // sent, or action_required with the player's action
	Action    Action
	Reference string        // the receiver's, if known
	Reason    string        // for operators
	After     time.Duration // delay of the next try
}

// RecordWaiting records that the receiver has the payment. Another try follows, and the count of tries without a
// clear answer begins again.
func (s *Withdrawals) RecordWaiting(ctx context.Context, w Withdrawal, wait Waiting) error {
	return s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) error {
		now := s.clock()
		reference := sqldb.Storable(cmp.Or(wait.Reference, w.Reference), 200)
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = ?, attempts = 0, next_at = ?, last_error = ?, "+
			"reference = ?, action_kind = ?, action_url = ?, action_data = ?, action_until = ?, waits_since = ? "+
			underLease,
			leased(w, string(wait.State), s.later(wait.After), sqldb.Storable(wait.Reason, posting.MaxReason),
				reference, wait.Action.Kind, sqldb.Storable(wait.Action.URL, 2000),
				sqldb.Storable(wait.Action.Data, 4000),
				wait.Action.Until, cmp.Or(w.WaitsSince, now))...)
		switch {
		case err != nil || n == 0:
			return err
		case wait.State == w.State:
			return nil
		}
		return writeEvent(ctx, tx, now, w.ID, WithdrawalEvent{State: wait.State, Actor: byRedrain, Reason: wait.Reason})
	})
}

// RecordRetry delays the next try of a withdrawal.
func (s *Withdrawals) RecordRetry(ctx context.Context, w Withdrawal, after time.Duration, reason string) error {
	return s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) error {
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET last_error = ?, next_at = ? "+underLease,
			leased(w, sqldb.Storable(reason, posting.MaxReason), s.later(after))...)
		return err
	})
}

// RecordDead makes a dead letter of a withdrawal. For the player it stays pending, because it may have been paid.
func (s *Withdrawals) RecordDead(ctx context.Context, w Withdrawal, reason string) error {
	return s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		buried, err := s.deadLetter(ctx, tx, w, reason)
		if err != nil || buried {
			return err
		}
		// If the answer of an earlier call was lost, the lease is unchanged.
		if !is.Dead || is.Tries != w.Tries || is.NextAt != w.NextAt {
			return ErrLeaseLost
		}
		return nil
	})
}

func (s *Withdrawals) deadLetter(ctx context.Context, tx *sqldb.Tx, w Withdrawal,
	reason string) (buried bool, err error) {
	now := s.clock()
	n, err := tx.Exec(ctx, "UPDATE withdrawal SET dead = 1, last_error = ? "+underLease,
		leased(w, sqldb.Storable(reason, posting.MaxReason))...)
	if err != nil || n == 0 {
		return false, err
	}
	err = writeEvent(ctx, tx, now, w.ID, WithdrawalEvent{State: w.State, Actor: byRedrain,
		Reason: "waits for an operator: " + reason})
	if err != nil {
		return false, err
	}
	// It has no campaign: its money has left the escrow long ago. A withdrawal may have several dead letters.
	return true, posting.WriteLetters(ctx, tx, []posting.DeadLetter{{
		Claim: w.ID, Source: rand.Text(), Kind: posting.LetterWithdrawal, Shard: -1, Packet: -1, User: w.User,
		Amount: w.Amount, WonAt: w.CreatedAt, Reason: reason, Payload: []byte{},
	}}, now)
}

// withLockedRow locks a withdrawal, frees the slot of its try, and calls fn with its row.
func (s *Withdrawals) withLockedRow(ctx context.Context, w Withdrawal,
	fn func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		is, _, err := withdrawalTable.Find(ctx, tx, "WHERE id = ?"+tx.ForUpdate(), w.ID)
		if err != nil {
			return err
		}
		if err := s.freeSlot(ctx, tx, w); err != nil {
			return err
		}
		return fn(ctx, tx, is)
	})
	return sqldb.Wrap(err, "withdrawal %s", w.ID)
}
