package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Restores are the times at which the database was put back from a backup. What was won after the backup comes back
// from the stream; what was paid outside after it does not, and the players' balances still have that money. So from a
// restore on, nobody's withdrawal is taken or sent, until an operator has entered what was paid and ends it.
//
// A restore is two lines of the audit, its beginning and its end: chained by hash, so that neither can be taken away
// unseen.
type Restores struct {
	db          *sqldb.DB
	clock       rain.Clock
	withdrawals *Withdrawals
}

// Restore is the newest one.
type Restore struct {
	At   int64 // Unix ms; 0: the database was never put back
	Open bool  // withdrawals are held
}

// Errors of restores.
var (
	// ErrWithdrawalsHeld is a withdrawal at such a time.
	ErrWithdrawalsHeld = errors.New("the ledger was put back from a backup, and what was paid since is " +
		"being entered; withdrawals wait until that is done")
	// ErrNoRestore is the end of a restore that has not begun.
	ErrNoRestore = errors.New("the ledger was not put back from a backup, or that has ended already")
)

// The actions in the audit. They begin with what no other action does, so that an index finds them.
const (
	restoreBegins = "restore.begin"
	restoreEnds   = "restore.end"
)

// Newest is the newest restore.
func (s *Restores) Newest(ctx context.Context) (Restore, error) { return newestRestore(ctx, s.db) }

func newestRestore(ctx context.Context, q sqldb.Querier) (r Restore, err error) {
	var begun, ended int64
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var action string
		var id, at int64
		err := scan(&action, &id, &at)
		switch action {
		case restoreBegins:
			begun, r.At = id, at
		case restoreEnds:
			ended = id
		}
		return err
	}, "SELECT action, MAX(id), MAX(at) FROM audit WHERE action IN (?, ?) GROUP BY action", restoreBegins, restoreEnds)
	r.Open = begun > ended
	return r, sqldb.Wrap(err, "looking whether the ledger was put back from a backup")
}

// Begin notes that the database was just put back from a backup, by whom, and what they say of it. No node may run.
func (s *Restores) Begin(ctx context.Context, by, reason string) error {
	return s.note(ctx, restoreBegins, AuditRecord{Actor: by, Role: "operator"}, reason)
}

// Notice notes that redrain has found the database put back, where nobody has said so. Nodes that find it together note
// it more than once, which is as good as once.
func (s *Restores) Notice(ctx context.Context, reason string) error {
	return s.note(ctx, restoreBegins, AuditRecord{Actor: "redrain", Role: "redrain"}, reason)
}

// End has withdrawals go on.
func (s *Restores) End(ctx context.Context, by, reason string) error {
	return s.note(ctx, restoreEnds, AuditRecord{Actor: by, Role: "operator"}, reason)
}

func (s *Restores) note(ctx context.Context, action string, line AuditRecord, reason string) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		is, err := newestRestore(ctx, tx)
		if err != nil {
			return err
		}
		if action == restoreEnds && !is.Open {
			return ErrNoRestore
		}
		now := s.clock()
		if now <= is.At { // the stream is read again for a later restore only
			return fmt.Errorf("the newest restore is of %s, later than now: set this machine's clock",
				time.UnixMilli(is.At).UTC().Format(time.RFC3339))
		}
		detail, err := json.Marshal(map[string]string{"reason": reason})
		if err != nil {
			return err
		}
		line.Action, line.Detail = action, detail
		return writeAudit(ctx, tx, now, line)
	})
	return sqldb.Wrap(err, "%s", action)
}

// Payment is what a provider's statement says that it has paid.
type Payment struct {
	Withdrawal string // the key that it was paid under
	User       string
	Amount     rain.Money
	Receiver   string // as the ledger names it
	Reference  string // the provider's own
}

// Enter books a payment that a provider's statement has, where the ledger has not: its withdrawal may be open, or
// unknown. It returns the state in which the ledger had it, "" for none. Entered again, it changes nothing.
func (s *Restores) Enter(ctx context.Context, p Payment) (was WithdrawalState, err error) {
	w, known, err := readWithdrawal(ctx, s.db, p.Withdrawal)
	if err != nil {
		return "", fmt.Errorf("withdrawal %s: %w", p.Withdrawal, err)
	}
	if was = w.State; !known {
		if p.Receiver == "" {
			return "", fmt.Errorf("withdrawal %s: the ledger does not know it; say which receiver has paid it",
				p.Withdrawal)
		}
		if w, _, err = s.withdrawals.withdraw(ctx, p.Withdrawal, p.User, p.Amount,
			entering{late: true}); err != nil {
			return "", err
		}
	}
	if w.User != p.User || w.Amount != p.Amount {
		return was, fmt.Errorf("withdrawal %s is %d for %s in the ledger, and %d for %s in the statement: %w",
			w.ID, w.Amount, w.User, p.Amount, p.User, ErrIdempotencyUnequal)
	}
	if w.Receiver == "" && w.State == WithdrawalRequested && p.Receiver != "" {
		now := s.clock()
		taken, err := s.withdrawals.take(ctx, p.Receiver, now, now+time.Minute.Milliseconds(), 1,
			func(context.Context, *sqldb.Tx, int) ([]Withdrawal, error) { return []Withdrawal{w}, nil })
		if err != nil {
			return was, err
		}
		if len(taken) == 0 {
			return was, fmt.Errorf("withdrawal %s: %w", w.ID, ErrLeaseLost)
		}
		w = taken[0]
	}
	if p.Receiver != "" && w.Receiver != p.Receiver {
		return was, fmt.Errorf("withdrawal %s was sent to %q: %w", w.ID, w.Receiver, ErrNotAsked)
	}
	return was, s.withdrawals.RecordPaid(ctx, w, p.Reference)
}
