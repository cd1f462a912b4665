package ledger

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// checkBalance fails with history.ErrTampered where an account holds something else than its entries add up to: what
// leaves by a balance that somebody has raised by hand does not come back. tx must have locked the balance. The sum is
// read from an index alone.
func checkBalance(ctx context.Context, tx *sqldb.Tx, of booking.Account) error {
	is, _, err := booking.BalanceOf(ctx, tx, of)
	if err != nil {
		return err
	}
	var sum rain.Money
	if _, err := tx.First(ctx, []any{(*int64)(&sum)}, "SELECT COALESCE(SUM(amount), 0) FROM entry WHERE account_id = ?",
		of.ID()); err != nil {
		return fmt.Errorf("entries of %s: %w", of.ID(), err)
	}
	if is != sum {
		return fmt.Errorf("%s holds %d, and its entries add up to %d: %w", of.ID(), is, sum, history.ErrTampered)
	}
	return nil
}
