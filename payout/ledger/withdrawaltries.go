package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
)

// A try at a withdrawal is leased: whoever counts it in tries first has it until next_at. The count never falls, so it
// tells the lease of one try from that of any other, however long a node was frozen and whatever its clock says; with
// the state and next_at it also ends when an operator steps in. What a try has found out about money given back or
// another try is written only under its lease; that the receiver has paid is true whoever says so.
//
// With its first try a withdrawal is bound to a receiver, before anything is sent: a receiver that was asked may have
// paid, whatever else it has said, so no other is asked for that withdrawal.

// Errors of the end of a try.
var (
	// ErrLeaseLost is the end of a try that another has overtaken. The other will hear the provider's answer itself.
	ErrLeaseLost = errors.New("another try has begun meanwhile")
	// ErrPaidTwice is a provider that breaks its word: the money was given back to the player, and is paid all the
	// same.
	ErrPaidTwice = errors.New("the money of this withdrawal went back to the player, because the provider refused it " +
		"for good or an operator gave it back, and now the provider says that it was paid")
	// ErrNotAsked is a payment by somebody who was not asked for it.
	ErrNotAsked = errors.New("a withdrawal is paid only by the receiver that it was sent to")
)

// LeaseDue takes up to limit withdrawals that are due and are for this receiver: it was asked for them before, or
// nobody was, if it is confirmed. After a restore, while it is open, that is none. Each is bound to it and counts as
// tried from now on, so that a try that was cut off counts too, and comes up again when its lease ends.
func (s *Withdrawals) LeaseDue(ctx context.Context, receiver string, limit int,
	lasting time.Duration) (taken []Withdrawal, err error) {
	now, states := s.clock(), triedStates
	// Outside a transaction: mostly nothing is due, and SQLite has one writer.
	due, err := dueFor(ctx, s.db, receiver, states, now, 1, "")
	if err != nil || len(due) == 0 {
		return nil, sqldb.Wrap(err, "looking for withdrawals that are due")
	}
	if restore, err := newestRestore(ctx, s.db); err != nil || restore.Open {
		return nil, err
	}
	confirmed, err := s.mayBind(ctx, receiver)
	if err != nil {
		return nil, err
	}
	if !confirmed {
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

// LongestWait is how far ahead a try may be put off, and a lease may last. A withdrawal that is due later than that was
// dated by hand or by a wrong clock, and is due now.
const LongestWait = time.Hour

// waitSlack is how much nodes' clocks may differ, amply.
const waitSlack = time.Minute

// later is the time at which a try comes that is put off.
func (s *Withdrawals) later(after time.Duration) int64 {
	return s.clock() + min(after, LongestWait).Milliseconds()
}

// triedStates are the states in which a receiver is asked; in sentStates it was asked before.
var (
	triedStates = []WithdrawalState{WithdrawalRequested, WithdrawalSent, WithdrawalAction}
	sentStates  = triedStates[1:]
)

// dueFor reads what is due for a receiver, and what is put off farther than any try may be. These are two statements
// for each state: for both at once SQLite reads the whole state.
func dueFor(ctx context.Context, q sqldb.Querier, receiver string, states []WithdrawalState, now int64, limit int,
	lock string) (due []Withdrawal, err error) {
	far := now + (LongestWait + waitSlack).Milliseconds()
	for _, state := range states {
		for when, than := range map[string]int64{"next_at <= ?": now, "next_at > ?": far} {
			some, err := withdrawalTable.List(ctx, q, "WHERE state = ? AND dead = 0 AND "+when+
				" AND receiver IN ('', ?) ORDER BY next_at, id LIMIT ?"+lock, string(state), than, receiver, limit)
			if err != nil {
				return nil, err
			}
			due = append(due, some...)
		}
	}
	slices.SortStableFunc(due, func(a, b Withdrawal) int { return cmp.Compare(a.NextAt, b.NextAt) })
	return due[:min(len(due), limit)], nil
}

// take leases up to limit withdrawals of those that find returns.
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
		first := map[string]WithdrawalEvent{}
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
			if was.State != w.State {
				first[w.ID] = WithdrawalEvent{State: w.State, Actor: byRedrain, Reason: "sent to " + receiver}
			}
		}
		if err := s.begin(ctx, tx, receiver, turns, taken); err != nil {
			return err
		}
		return writeEvents(ctx, tx, now, first)
	})
	if err != nil {
		return nil, fmt.Errorf("leasing withdrawals: %w", err)
	}
	return taken, nil
}

// lease takes one, unless somebody has touched it since it was read; then n is 0.
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

// underLease finds a withdrawal only if nobody has touched it since w was read.
const underLease = "WHERE id = ? AND dead = 0 AND state = ? AND state IN ('requested', 'sent', 'action_required') " +
	"AND tries = ? AND next_at = ?"

// leased are the arguments of a statement that sets some values underLease.
func leased(w Withdrawal, values ...any) []any {
	return append(values, w.ID, string(w.State), w.Tries, w.NextAt)
}

// RecordPaid notes that the provider has paid, also where that comes late and the withdrawal is a dead letter by now.
func (s *Withdrawals) RecordPaid(ctx context.Context, w Withdrawal, reference string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		now := s.clock()
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'paid', dead = 0, last_error = '', reference = ?, "+
			"finished_at = ? WHERE id = ? AND state IN ('sent', 'action_required') AND receiver = ? AND receiver <> ''",
			sqldb.Storable(reference, 200), now, w.ID, w.Receiver)
		if err != nil {
			return err
		}
		if n == 1 {
			return s.finish(ctx, tx, w, WithdrawalEvent{State: WithdrawalPaid, Actor: byRedrain,
				Reason: "paid by " + w.Receiver})
		}
		switch {
		case is.State.Brief() == WithdrawalFailed:
			return ErrPaidTwice
		case is.State != WithdrawalPaid: // else it is an earlier call whose answer was lost
			return ErrNotAsked
		}
		return nil
	})
}

// finish books the money of a withdrawal whose row has ended: out of clearing if it is paid, else back to the player.
// It resolves its letters.
func (s *Withdrawals) finish(ctx context.Context, tx *sqldb.Tx, w Withdrawal, e WithdrawalEvent) error {
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
	ended.Action = Action{}
	if err := writeEvent(ctx, tx, now, w.ID, e); err != nil {
		return err
	}
	if t.Papers, err = endedPapers(ctx, tx, ended); err != nil {
		return err
	}
	_, err = booking.Book(ctx, tx, now, []booking.Txn{t}, func(b booking.Booked) error {
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET "+column+" = ?, action_url = '', action_data = '', "+
			"action_until = 0 WHERE id = ?", b.IDs[t.Key], w.ID)
		if err != nil {
			return err
		}
		return resolveLetters(ctx, tx, w.ID, now)
	})
	return err
}

// RecordRefused gives the money back, once, and only if nobody can be asking the provider a second time.
func (s *Withdrawals) RecordRefused(ctx context.Context, w Withdrawal, reason string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'refused', finished_at = ?, last_error = ? "+underLease+
			" AND state IN ('sent', 'action_required')",
			leased(w, s.clock(), sqldb.Storable(reason, posting.MaxReason))...)
		if err != nil {
			return err
		}
		if n == 1 {
			return s.finish(ctx, tx, w, WithdrawalEvent{State: WithdrawalRefused, Actor: byRedrain, Reason: reason})
		}
		if is.State != WithdrawalRefused { // else it is an earlier call whose answer was lost
			return ErrLeaseLost
		}
		return nil
	})
}

// Waiting is a receiver's clear answer that it has the payment, which is neither made nor refused yet.
type Waiting struct {
	State     WithdrawalState // sent, or action_required with what the player has to do
	Action    Action
	Reference string        // the receiver's, if it has told one
	Reason    string        // for operators
	After     time.Duration // when the receiver is asked again
}

// RecordWaiting notes that the receiver has the payment and is to be asked again. Tries without a clear answer are
// counted anew.
func (s *Withdrawals) RecordWaiting(ctx context.Context, w Withdrawal, wait Waiting) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) error {
		now := s.clock()
		reference := sqldb.Storable(cmp.Or(wait.Reference, w.Reference), 200)
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = ?, attempts = 0, next_at = ?, last_error = ?, "+
			"reference = ?, action_url = ?, action_data = ?, action_until = ?, waits_since = ? "+underLease,
			leased(w, string(wait.State), s.later(wait.After), sqldb.Storable(wait.Reason, posting.MaxReason),
				reference, sqldb.Storable(wait.Action.URL, 2000), sqldb.Storable(wait.Action.Data, 4000),
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

// RecordRetry has a withdrawal tried once more, after a while.
func (s *Withdrawals) RecordRetry(ctx context.Context, w Withdrawal, after time.Duration, reason string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) error {
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET last_error = ?, next_at = ? "+underLease,
			leased(w, sqldb.Storable(reason, posting.MaxReason), s.later(after))...)
		return err
	})
}

// RecordDead makes a dead letter of a withdrawal. For the player it stays pending: nobody knows that it is not paid.
func (s *Withdrawals) RecordDead(ctx context.Context, w Withdrawal, reason string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error {
		buried, err := s.bury(ctx, tx, w, reason)
		if err != nil || buried {
			return err
		}
		// An earlier call whose answer was lost has left the lease as it was.
		if !is.Dead || is.Tries != w.Tries || is.NextAt != w.NextAt {
			return ErrLeaseLost
		}
		return nil
	})
}

func (s *Withdrawals) bury(ctx context.Context, tx *sqldb.Tx, w Withdrawal, reason string) (buried bool, err error) {
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
	return true, posting.WriteLetters(ctx, tx, []posting.DeadLetter{withdrawalLetter(w, reason)}, now)
}

// endTry locks a withdrawal, and calls fn with its row.
func (s *Withdrawals) endTry(ctx context.Context, w Withdrawal,
	fn func(ctx context.Context, tx *sqldb.Tx, is Withdrawal) error) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		is, _, err := withdrawalTable.Find(ctx, tx, "WHERE id = ?"+tx.ForUpdate(), w.ID)
		if err != nil {
			return err
		}
		if err := s.end(ctx, tx, w); err != nil {
			return err
		}
		return fn(ctx, tx, is)
	})
	return sqldb.Wrap(err, "withdrawal %s", w.ID)
}
