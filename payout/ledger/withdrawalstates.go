package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"redrain/internal/sqldb"
)

// WithdrawalState is the state of a withdrawal.
type WithdrawalState string

// The states of a withdrawal. Until it has ended its money is in the player's clearing account.
//
//	requested ──▶ sent ──▶ paid · refused
//	   │  ▲        │ ▲
//	   ▼  │        ▼ │
//	  held     action_required ──▶ paid · refused
//
// Operators can end a held one, and a dead letter, as returned. They can end a dead letter as paid, too.
const (
	WithdrawalRequested WithdrawalState = "requested"       // debited from the player's account, and not sent
	WithdrawalHeld      WithdrawalState = "held"            // stopped before it was sent
	WithdrawalSent      WithdrawalState = "sent"            // sent to its receiver, without a final answer yet
	WithdrawalAction    WithdrawalState = "action_required" // the player must confirm it at the receiver
	WithdrawalPaid      WithdrawalState = "paid"
	WithdrawalRefused   WithdrawalState = "refused"  // finally refused by the receiver; the player has the money back
	WithdrawalReturned  WithdrawalState = "returned" // by operators; the player has the money back
)

// The brief states, for players' programs and lists.
const (
	WithdrawalPending WithdrawalState = "pending" // requested, held, sent or action_required
	WithdrawalFailed  WithdrawalState = "failed"  // refused or returned
)

// WithdrawalDead selects the pending withdrawals that are dead letters, in lists for operators.
const WithdrawalDead WithdrawalState = "dead"

var (
	openStates   = []WithdrawalState{WithdrawalRequested, WithdrawalHeld, WithdrawalSent, WithdrawalAction}
	failedStates = []WithdrawalState{WithdrawalRefused, WithdrawalReturned}
)

// WithdrawalStates returns all states, including brief ones.
func WithdrawalStates() []WithdrawalState {
	return slices.Concat(openStates, []WithdrawalState{WithdrawalPaid}, failedStates,
		[]WithdrawalState{WithdrawalPending, WithdrawalFailed})
}

// Brief returns the state for players' programs: pending, paid or failed.
func (s WithdrawalState) Brief() WithdrawalState {
	switch {
	case slices.Contains(openStates, s):
		return WithdrawalPending
	case slices.Contains(failedStates, s):
		return WithdrawalFailed
	}
	return s
}

// Open reports whether a withdrawal in this state has not ended.
func (s WithdrawalState) Open() bool { return s.Brief() == WithdrawalPending }

// each returns the states of a brief state. Any other state stands for itself.
func (s WithdrawalState) each() []WithdrawalState {
	switch s {
	case WithdrawalPending, WithdrawalDead:
		return openStates
	case WithdrawalFailed:
		return failedStates
	}
	return []WithdrawalState{s}
}

// orphanGrace is the time for which a withdrawal of another receiver may be due before it counts as orphaned. Until
// then a process with that receiver may take it: while settings are rolled out, processes with both receivers run.
const orphanGrace = time.Minute

// BuryOrphans makes dead letters of at most limit withdrawals of each state that were sent to another receiver and are
// overdue. It returns them as they were before.
func (s *Withdrawals) BuryOrphans(ctx context.Context, receiver string, limit int) (buried []Withdrawal, err error) {
	for _, state := range sentStates {
		orphans, err := withdrawalTable.List(ctx, s.db, "WHERE state = ? AND dead = 0 AND next_at <= ? "+
			"AND receiver NOT IN ('', ?) ORDER BY next_at, id LIMIT ?", string(state),
			s.clock()-orphanGrace.Milliseconds(), receiver, limit)
		if err != nil {
			return buried, fmt.Errorf("find withdrawals of other receivers: %w", err)
		}
		for _, w := range orphans {
			is := false
			err := s.withLockedRow(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) (err error) {
				is, err = s.deadLetter(ctx, tx, w, "was sent to "+w.Receiver+"; this server uses "+receiver)
				return err
			})
			if err != nil {
				return buried, err
			}
			if is {
				buried = append(buried, w)
			}
		}
	}
	return buried, nil
}
