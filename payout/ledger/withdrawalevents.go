package ledger

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

// WithdrawalEvent is one event in a withdrawal's history.
type WithdrawalEvent struct {
	At     int64           // Unix ms
	State  WithdrawalState // from then on
	Actor  string          // "player:<id>", "operator:<name>", ByService, or "redrain" for automatic events
	Reason string
}

var eventTable = sqldb.NewTable("withdrawal_event", func(e *WithdrawalEvent) []any {
	return []any{"at", &e.At, "state", &e.State, "actor", &e.Actor, "reason", &e.Reason}
})

// byRedrain is the actor of automatic events.
const byRedrain = "redrain"

// writeEvent adds to the history of a withdrawal. Call it in the transaction of the change and after it, because an
// event copies the receiver of the withdrawal's row.
func writeEvent(ctx context.Context, tx *sqldb.Tx, now int64, id string, e WithdrawalEvent) error {
	_, err := tx.Exec(ctx, "INSERT INTO withdrawal_event (withdrawal_id, at, state, actor, reason, receiver) "+
		"SELECT id, ?, ?, ?, ?, receiver FROM withdrawal WHERE id = ?", now, string(e.State),
		sqldb.Storable(e.Actor, 200), sqldb.Storable(e.Reason, posting.MaxReason), id)
	return err
}

// maxEvents is the largest number of listed events: years of retries make a long history.
const maxEvents = 500

// WithdrawalHistory lists a withdrawal's events, the oldest first; only the newest maxEvents of them.
func (s *Withdrawals) WithdrawalHistory(ctx context.Context, id string) ([]WithdrawalEvent, error) {
	list, err := eventTable.List(ctx, s.db, "WHERE withdrawal_id = ? ORDER BY id DESC LIMIT ?", id, maxEvents)
	slices.Reverse(list)
	return list, sqldb.Wrap(err, "read the history of withdrawal %q", id)
}

// actorOf returns the actor of the changes under ctx: the operator of WithAudit, or redrain.
func actorOf(ctx context.Context) string {
	if asked, _ := ctx.Value(auditKey{}).(*AuditRecord); asked != nil {
		return operatorActor + asked.Actor
	}
	return byRedrain
}

// revive makes a dead-lettered withdrawal due again, with no tries and the same receiver.
func (s *Withdrawals) revive(ctx context.Context, tx *sqldb.Tx, id string) error {
	now := s.clock()
	n, err := tx.Exec(ctx, "UPDATE withdrawal SET dead = 0, attempts = 0, waits_since = 0, next_at = ? "+
		"WHERE id = ? AND dead = 1", now, id)
	if err != nil {
		return err
	}
	if n == 1 {
		w, _, err := readWithdrawal(ctx, tx, id)
		if err != nil {
			return err
		}
		err = writeEvent(ctx, tx, now, id, WithdrawalEvent{State: w.State, Actor: actorOf(ctx), Reason: "retried"})
		if err != nil {
			return err
		}
	}
	return resolveLetters(ctx, tx, id, now)
}

// Recheck makes a withdrawal due at once, a dead letter too, because its receiver reports news about it. An ended
// withdrawal stays as it is. The error is ErrUnknownWithdrawal, or ErrNotAsked if it was not sent to this receiver.
func (s *Withdrawals) Recheck(ctx context.Context, id, receiver string) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := withdrawalTable.Get(ctx, tx, ErrUnknownWithdrawal, "WHERE id = ?"+tx.ForUpdate(), id)
		switch {
		case err != nil:
			return err
		case w.Receiver != receiver:
			return ErrNotAsked
		case w.Dead:
			return s.revive(ctx, tx, id)
		case !w.State.Open():
			return nil
		}
		_, err = tx.Exec(ctx, "UPDATE withdrawal SET next_at = ? WHERE id = ?", s.clock(), id)
		return err
	})
	return sqldb.Wrap(err, "withdrawal %q", id)
}

func resolveLetters(ctx context.Context, tx *sqldb.Tx, id string, now int64) error {
	ids, err := sqldb.Column[int64](ctx, tx, "SELECT id FROM dead_letter WHERE claim = ? AND kind = ? AND "+
		"resolved_at = 0", id, posting.LetterWithdrawal)
	if err != nil {
		return err
	}
	_, err = posting.ResolveLetters(ctx, tx, now, ids...)
	return err
}
