package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
)

// A try at a withdrawal is leased: whoever changes attempts and next_at first has it until next_at, and both
// together name the lease. What a try has found out about money given back or another try is written only under its
// lease; that the provider has paid is true whoever says so.

// Errors of the end of a try.
var (
	// ErrLeaseLost is the end of a try that another has overtaken. The other will hear the provider's answer itself.
	ErrLeaseLost = errors.New("another try has begun meanwhile")
	// ErrPaidTwice is a provider that breaks its word: the money was given back to the player, and is paid all the
	// same.
	ErrPaidTwice = errors.New("the provider refused this withdrawal for good, so the money went back to the player, " +
		"and now says that it was paid")
)

// LeaseDue takes up to limit withdrawals that are due. Each counts as tried from now on, so that a try that was cut
// off counts too, and comes up again when its lease ends.
func (s *Withdrawals) LeaseDue(ctx context.Context, limit int, lasting time.Duration) (taken []Withdrawal, err error) {
	for {
		now := s.clock()
		// Outside a transaction: mostly nothing is due, and SQLite has one writer.
		due, err := sqldb.List(ctx, s.db, scanWithdrawal,
			withdrawalSelect+"WHERE state = ? AND dead = 0 AND next_at <= ? ORDER BY next_at, id LIMIT ?",
			string(WithdrawalPending), now, limit)
		if err != nil {
			return nil, fmt.Errorf("looking for withdrawals that are due: %w", err)
		}
		if len(due) == 0 {
			return nil, nil
		}
		if taken, err = s.take(ctx, due, now+lasting.Milliseconds()); err != nil || len(taken) > 0 {
			return taken, err
		}
		// Other nodes were faster with all of these; there may be more behind them.
	}
}

func (s *Withdrawals) take(ctx context.Context, due []Withdrawal, until int64) (taken []Withdrawal, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		taken = nil
		for _, w := range due {
			n, err := tx.Exec(ctx, "UPDATE withdrawal SET attempts = attempts + 1, next_at = ? "+underLease,
				leased(until, w)...)
			if err != nil {
				return err
			}
			if n == 1 {
				w.Attempts, w.NextAt = w.Attempts+1, until
				taken = append(taken, w)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("leasing withdrawals: %w", err)
	}
	return taken, nil
}

// underLease finds a withdrawal only if nobody has touched it since w was read.
const underLease = "WHERE id = ? AND state = 'pending' AND dead = 0 AND attempts = ? AND next_at = ?"

// leased are the arguments of a statement that sets one value underLease.
func leased(value any, w Withdrawal) []any { return []any{value, w.ID, w.Attempts, w.NextAt} }

// RecordPaid notes that the provider has paid, also where that comes late and the withdrawal is a dead letter by now.
func (s *Withdrawals) RecordPaid(ctx context.Context, w Withdrawal, reference string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx) error {
		now := s.clock()
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'paid', dead = 0, last_error = '', reference = ?, "+
			"finished_at = ? "+
			"WHERE id = ? AND state = 'pending'", booking.Clip(reference, 200), now, w.ID)
		if err != nil {
			return err
		}
		if n == 1 {
			return resolveLetters(ctx, tx, w.ID, now)
		}
		is, _, err := readWithdrawal(ctx, tx, w.ID)
		if err == nil && is.State == WithdrawalFailed {
			err = ErrPaidTwice
		}
		return err
	})
}

// RecordRefused gives the money back, once, and only if nobody can be asking the provider a second time.
func (s *Withdrawals) RecordRefused(ctx context.Context, w Withdrawal, reason string) error {
	back := booking.Move(booking.KindReturn, returnKey(w.ID), booking.World, booking.UserAccount(w.User), w.Amount)
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'failed', finished_at = ?, last_error = ? "+underLease,
			append([]any{s.clock()}, leased(booking.Clip(reason, posting.MaxReason), w)...)...)
		if err != nil {
			return err
		}
		if n == 1 {
			_, err = booking.Book(ctx, tx, s.clock(), []booking.Txn{back}, func(b booking.Booked) error {
				_, err := tx.Exec(ctx, "UPDATE withdrawal SET return_id = ? WHERE id = ?", b.IDs[back.Key], w.ID)
				return err
			})
			return err
		}
		is, _, err := readWithdrawal(ctx, tx, w.ID)
		if err == nil && is.State != WithdrawalFailed { // else it is an earlier call whose answer was lost
			err = ErrLeaseLost
		}
		return err
	})
}

// RecordRetry has a withdrawal tried once more, after a while.
func (s *Withdrawals) RecordRetry(ctx context.Context, w Withdrawal, after time.Duration, reason string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET last_error = ?, next_at = ? "+underLease,
			append([]any{booking.Clip(reason, posting.MaxReason)}, leased(s.clock()+after.Milliseconds(), w)...)...)
		return err
	})
}

// RecordDead makes a dead letter of a withdrawal. For the player it stays pending: nobody knows that it is not paid.
func (s *Withdrawals) RecordDead(ctx context.Context, w Withdrawal, reason string) error {
	return s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE withdrawal SET dead = 1, last_error = ? "+underLease,
			leased(booking.Clip(reason, posting.MaxReason), w)...)
		if err != nil {
			return err
		}
		if n == 1 {
			return posting.WriteLetters(ctx, tx, []posting.DeadLetter{withdrawalLetter(w, reason)}, s.clock())
		}
		is, _, err := readWithdrawal(ctx, tx, w.ID)
		// An earlier call whose answer was lost has left the lease as it was.
		if err == nil && (!is.Dead || is.Attempts != w.Attempts || is.NextAt != w.NextAt) {
			err = ErrLeaseLost
		}
		return err
	})
}

func (s *Withdrawals) endTry(ctx context.Context, w Withdrawal, fn func(context.Context, *sqldb.Tx) error) error {
	if err := s.db.InTx(ctx, fn); err != nil {
		return fmt.Errorf("withdrawal %s: %w", w.ID, err)
	}
	return nil
}

// withdrawalLetter is the dead letter of a withdrawal. It belongs to no campaign, so no campaign's reconciliation
// counts it: the money has left the escrow long ago. Each death is a letter of its own, so what tells it from
// others is by chance.
func withdrawalLetter(w Withdrawal, reason string) posting.DeadLetter {
	return posting.DeadLetter{
		Claim: w.ID, Source: rand.Text(), Kind: posting.LetterWithdrawal, Shard: -1, Packet: -1, User: w.User,
		Amount: w.Amount,
		WonAt:  w.CreatedAt,
		Reason: reason, Payload: []byte{},
	}
}

// revive makes a dead withdrawal due again, as if it had never been tried.
func (s *Withdrawals) revive(ctx context.Context, tx *sqldb.Tx, id string) error {
	now := s.clock()
	_, err := tx.Exec(ctx, "UPDATE withdrawal SET dead = 0, attempts = 0, next_at = ? WHERE id = ? "+
		"AND state = 'pending' AND dead = 1", now, id)
	if err != nil {
		return err
	}
	return resolveLetters(ctx, tx, id, now)
}

func resolveLetters(ctx context.Context, tx *sqldb.Tx, id string, now int64) error {
	_, err := tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ? WHERE claim = ? AND kind = ? AND resolved_at = 0",
		now, id, posting.LetterWithdrawal)
	return err
}
