package ledger

import (
	"context"
	"crypto/rand"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
)

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
