package ledger

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

// WithdrawalEvent is one line of a withdrawal's history.
type WithdrawalEvent struct {
	At     int64           // Unix ms
	State  WithdrawalState // from then on
	Actor  string          // "player:<id>", "operator:<name>", ByService, or "redrain" for what it does by itself
	Reason string
}

var eventTable = sqldb.NewTable("withdrawal_event", func(e *WithdrawalEvent) []any {
	return []any{"at", &e.At, "state", &e.State, "actor", &e.Actor, "reason", &e.Reason}
})

// byRedrain is the actor of what happens without a person.
const byRedrain = "redrain"

// writeEvents adds to the history of withdrawals, in the transaction of what has happened to them, and once that is
// written: an event has the receiver as the withdrawal's row has it.
func writeEvents(ctx context.Context, tx *sqldb.Tx, now int64, events map[string]WithdrawalEvent) error {
	for _, id := range slices.Sorted(maps.Keys(events)) {
		e := events[id]
		_, err := tx.Exec(ctx, "INSERT INTO withdrawal_event (withdrawal_id, at, state, actor, reason, receiver) "+
			"SELECT id, ?, ?, ?, ?, receiver FROM withdrawal WHERE id = ?", now, string(e.State),
			sqldb.Storable(e.Actor, 200), sqldb.Storable(e.Reason, posting.MaxReason), id)
		if err != nil {
			return err
		}
	}
	return nil
}

func writeEvent(ctx context.Context, tx *sqldb.Tx, now int64, id string, e WithdrawalEvent) error {
	return writeEvents(ctx, tx, now, map[string]WithdrawalEvent{id: e})
}

// maxEvents is how much of a history is told: one that is retried for years has a long one.
const maxEvents = 500

// WithdrawalHistory is what has happened to a withdrawal, the oldest first; of a very long one, the newest part.
func (s *Withdrawals) WithdrawalHistory(ctx context.Context, id string) ([]WithdrawalEvent, error) {
	list, err := eventTable.List(ctx, s.db, "WHERE withdrawal_id = ? ORDER BY id DESC LIMIT ?", id, maxEvents)
	slices.Reverse(list)
	return list, sqldb.Wrap(err, "history of withdrawal %q", id)
}

// actorOf is who has the ledger changed under ctx: the operator of WithAudit, or redrain itself.
func actorOf(ctx context.Context) string {
	if asked, _ := ctx.Value(auditKey{}).(*AuditRecord); asked != nil {
		return operatorActor + asked.Actor
	}
	return byRedrain
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

// revive makes a dead withdrawal due again, as if it had never been tried. Its receiver stays.
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

func resolveLetters(ctx context.Context, tx *sqldb.Tx, id string, now int64) error {
	ids, err := sqldb.Column[int64](ctx, tx, "SELECT id FROM dead_letter WHERE claim = ? AND kind = ? AND "+
		"resolved_at = 0", id, posting.LetterWithdrawal)
	if err != nil {
		return err
	}
	_, err = posting.ResolveLetters(ctx, tx, now, ids...)
	return err
}
