package ledger

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/history"
)

// wholeWithdrawals are the ids of those of some withdrawals that nobody has changed by hand.
func wholeWithdrawals(ctx context.Context, q sqldb.Querier, some []Withdrawal) ([]string, error) {
	ids := make([]string, len(some))
	for i, w := range some {
		ids[i] = w.ID
	}
	return history.Whole(ctx, q, history.Withdrawal, ids...)
}

// lockWhole locks a withdrawal, and makes sure that nobody has changed it by hand. What a receiver has said of one that
// somebody has changed is not written: once it is mended the receiver is asked again.
func lockWhole(ctx context.Context, tx *sqldb.Tx, id string) error {
	if _, err := tx.First(ctx, []any{&id}, "SELECT id FROM withdrawal WHERE id = ?"+tx.ForUpdate(), id); err != nil {
		return err
	}
	return history.Check(ctx, tx, history.Withdrawal, id)
}
