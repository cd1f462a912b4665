package ledger

import (
	"context"
	"errors"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

// Errors of operators' operations on a withdrawal.
var (
	ErrAlreadySent = errors.New("the withdrawal was sent already and can no longer be held")
	ErrNotHeld     = errors.New("the withdrawal is not held")
	ErrNotWaiting  = errors.New("the withdrawal does not wait for an operator: one that is a dead letter can be " +
		"marked as paid or returned, one that is held can be returned")
)

// Person is the operator of a recorded operation, and the reason.
type Person struct {
	Name string
	// ID is the operator's credential: one ID is one person, whatever the name. If it is "", the name decides.
	ID       string
	Nameless bool // the credential is shared and names no person
	Reason   string
}

// stored returns the person as stored in the database, so that a later comparison finds the same person.
func (p Person) stored() Person {
	p.Name, p.ID = sqldb.Storable(strings.TrimSpace(p.Name), 200), sqldb.Storable(p.ID, 400)
	p.Reason = sqldb.Storable(p.Reason, posting.MaxReason)
	return p
}

// is reports whether two people are, or may be, the same.
func (p Person) is(other Person) bool {
	return p.Nameless || other.Nameless || p.ID != "" && p.ID == other.ID ||
		strings.EqualFold(p.Name, other.Name)
}

const operatorActor = "operator:"

func (p Person) actor() string {
	return sqldb.Storable(operatorActor+strings.TrimSpace(p.Name), maxActor)
}

// Hold stops a withdrawal before its receiver is asked. It does nothing if the withdrawal is held already.
func (s *Withdrawals) Hold(ctx context.Context, id string, by Person) error {
	return s.order(ctx, id, func(ctx context.Context, tx *sqldb.Tx, w Withdrawal) (*WithdrawalEvent, error) {
		switch w.State {
		case WithdrawalHeld:
			return nil, nil
		case WithdrawalRequested:
		default:
			return nil, ErrAlreadySent
		}
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'held' WHERE id = ?", id)
		return &WithdrawalEvent{State: WithdrawalHeld, Actor: by.actor(), Reason: "held: " + by.Reason}, err
	})
}

// Release lets a held withdrawal be paid.
func (s *Withdrawals) Release(ctx context.Context, id string, by Person) error {
	return s.order(ctx, id, func(ctx context.Context, tx *sqldb.Tx, w Withdrawal) (*WithdrawalEvent, error) {
		if w.State != WithdrawalHeld {
			return nil, ErrNotHeld
		}
		_, err := tx.Exec(ctx, "UPDATE withdrawal SET state = 'requested', next_at = ? WHERE id = ?", s.clock(), id)
		return &WithdrawalEvent{State: WithdrawalRequested, Actor: by.actor(), Reason: "released: " + by.Reason}, err
	})
}

// endByOperators ends a withdrawal that waits for operators; ErrChangedMeanwhile means that an event came since seen.
func (s *Withdrawals) endByOperators(ctx context.Context, d Deed, seen string, by Person) error {
	return s.order(ctx, d.Target, func(ctx context.Context, tx *sqldb.Tx, w Withdrawal) (*WithdrawalEvent, error) {
		newest, err := newestEvent(ctx, tx, w.ID)
		switch {
		case err != nil:
			return nil, err
		case newest != seen:
			return nil, ErrChangedMeanwhile
		case !w.takes(d.Act):
			return nil, ErrNotWaiting
		}
		e := WithdrawalEvent{State: WithdrawalPaid, Actor: by.actor(), Reason: "marked as paid: " + by.Reason}
		reference, failure := sqldb.Storable(d.Reference, 200), ""
		if d.Act == ActBack {
			e.State, e.Reason = WithdrawalReturned, "returned: "+by.Reason
			reference, failure = w.Reference, "returned by the organizer"
		}
		_, err = tx.Exec(ctx, "UPDATE withdrawal SET state = ?, dead = 0, last_error = ?, reference = ?, "+
			"finished_at = ? WHERE id = ?", string(e.State), failure, reference, s.clock(), w.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.bookEnd(ctx, tx, w, e)
	})
}

// order locks a withdrawal and calls do, and records its event in the history and the audit.
func (s *Withdrawals) order(ctx context.Context, id string,
	do func(ctx context.Context, tx *sqldb.Tx, w Withdrawal) (*WithdrawalEvent, error)) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		was, err := withdrawalTable.Get(ctx, tx, ErrUnknownWithdrawal, "WHERE id = ?"+tx.ForUpdate(), id)
		if err != nil {
			return err
		}
		event, err := do(ctx, tx, was)
		if err != nil {
			return err
		}
		if event != nil {
			if err := writeEvent(ctx, tx, s.clock(), id, *event); err != nil {
				return err
			}
		}
		is, _, err := readWithdrawal(ctx, tx, id)
		if err != nil {
			return err
		}
		return auditChange(ctx, tx, s.clock(), stateOf(was), stateOf(is))
	})
	return sqldb.Wrap(err, "withdrawal %q", id)
}

func stateOf(w Withdrawal) change {
	return change{"withdrawal:" + w.ID, map[string]any{"state": w.State, "dead": w.Dead, "amount": w.Amount}}
}

// PendingOrders returns the pending orders about withdrawals, by withdrawal id. Of several it returns the newest. It
// leaves out orders from before the withdrawal's newest event.
func (s *Withdrawals) PendingOrders(ctx context.Context, of ...Withdrawal) (map[string]Approval, error) {
	orders := map[string]Approval{}
	var ids []string
	for _, w := range of {
		if w.takes(ActBack) {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return orders, nil
	}
	list, err := approvalTable.List(ctx, s.db, "WHERE state = 'pending' AND action IN (?, ?) AND target IN "+
		sqldb.Marks(len(ids))+" ORDER BY asked_at, id",
		append([]any{string(ActPaid), string(ActBack)}, sqldb.Args(ids)...)...)
	for _, a := range list {
		if err != nil || a.isAt(s.clock()).State != ApprovalPending {
			continue
		}
		var newest string
		if newest, err = newestEvent(ctx, s.db, a.Target); newest == a.seen {
			orders[a.Target] = a
		}
	}
	return orders, sqldb.Wrap(err, "read pending orders")
}
