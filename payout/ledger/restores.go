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

// Restores are the times at which the database was restored from a backup. Wins after the backup come back from the
// stream; payments of withdrawals do not, and the players' balances still have that money. So withdrawals are held
// until an operator has entered these payments. A restore is two audit records, its beginning and its end.
type Restores struct {
	db          *sqldb.DB
	clock       rain.Clock
	withdrawals *Withdrawals
}

// Restore is the newest restore.
type Restore struct {
	At   int64 // Unix ms; 0: no restore
	Open bool  // withdrawals are held
}

// Errors of restores.
var (
	// ErrWithdrawalsHeld is the error of a withdrawal during an open restore.
	ErrWithdrawalsHeld = errors.New("the ledger was restored from a backup: withdrawals wait until the payments " +
		"since the backup are entered")
	// ErrNoRestore is the error of End without an open restore.
	ErrNoRestore = errors.New("the ledger has no open restore")
)

// The actions in the audit. They have a common prefix, so that an index finds them.
const (
	restoreBegins = "restore.begin"
	restoreEnds   = "restore.end"
)

// Newest reads the newest restore.
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
	return r, sqldb.Wrap(err, "read the newest restore")
}

// Begin records that the database was just restored from a backup. No node may run.
func (s *Restores) Begin(ctx context.Context, by, reason string) error {
	return s.note(ctx, restoreBegins, AuditRecord{Actor: by, Role: "operator"}, reason)
}

// Notice records a restore that redrain has detected. If several nodes detect it, several records are harmless.
func (s *Restores) Notice(ctx context.Context, reason string) error {
	return s.note(ctx, restoreBegins, AuditRecord{Actor: "redrain", Role: "redrain"}, reason)
}

// End allows withdrawals again.
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
		if now <= is.At { // the stream is read again only for a later restore
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

// Payment is a payment on a provider's statement.
type Payment struct {
	Withdrawal string // its idempotency key
	User       string
	Amount     rain.Money
	Receiver   string // the ledger's name of the receiver
	Reference  string // the provider's own
}

// Enter books a payment on a provider's statement whose withdrawal is open or unknown in the ledger. It returns the
// withdrawal's state before, "" = unknown. A second call changes nothing.
func (s *Restores) Enter(ctx context.Context, p Payment) (was WithdrawalState, err error) {
	w, known, err := readWithdrawal(ctx, s.db, p.Withdrawal)
	if err != nil {
		return "", fmt.Errorf("withdrawal %s: %w", p.Withdrawal, err)
	}
	if was = w.State; !known {
		if p.Receiver == "" {
			return "", fmt.Errorf("withdrawal %s: the ledger does not have it; name the receiver that has paid it",
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
