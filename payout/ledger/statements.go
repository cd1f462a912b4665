package ledger

import (
	"context"
	"fmt"
	"math"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Statements reads the rows that match a statement of a provider or a bank.
type Statements struct{ db *sqldb.DB }

// WithdrawalsByID reads withdrawals by id. Unknown ids are missing in the result.
func (s *Statements) WithdrawalsByID(ctx context.Context, ids []string) (map[string]Withdrawal, error) {
	found := make(map[string]Withdrawal, len(ids))
	err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
		w, err := withdrawalTable.Scan(scan)
		found[w.ID] = w
		return err
	}, withdrawalTable.Select("WHERE id IN"), ids)
	return found, sqldb.Wrap(err, "read the withdrawals of a statement")
}

const statementPage = 1000

// EachPaid calls yield for every withdrawal requested since a time and paid between from and to, in Unix ms.
func (s *Statements) EachPaid(ctx context.Context, since, from, to int64, yield func(Withdrawal) error) error {
	var where sqldb.Where
	where.And("state = ? AND created_at >= ? AND created_at < ?", string(WithdrawalPaid), since, to)
	for cursor := ""; ; {
		page, next, err := withdrawalTable.ListPage(ctx, s.db, where, "created_at, id", cursor, statementPage)
		if err != nil {
			return fmt.Errorf("read paid withdrawals: %w", err)
		}
		for _, w := range page {
			if w.FinishedAt < from || w.FinishedAt >= to {
				continue
			}
			if err := yield(w); err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// Deposit is a sponsor's deposit.
type Deposit struct {
	Sponsor, Reference string
	Amount             rain.Money
	At                 int64 // Unix ms

	actor string
	txn   int64
}

var depositTable = sqldb.NewTable("deposit", func(d *Deposit) []any {
	return []any{"sponsor", &d.Sponsor, "reference", &d.Reference, "amount", &d.Amount, "actor", &d.actor,
		"created_at", &d.At, "txn_id", &d.txn}
})

// mostDeposits bounds the deposits that are compared with one statement.
const mostDeposits = 200_000

// Deposits reads the deposits between two times.
func (s *Statements) Deposits(ctx context.Context, from, to int64) ([]Deposit, error) {
	list, err := depositTable.List(ctx, s.db, "WHERE created_at >= ? AND created_at < ? ORDER BY created_at LIMIT ?",
		max(from, 0), min(to, math.MaxInt64), mostDeposits+1)
	if err == nil && len(list) > mostDeposits {
		err = fmt.Errorf("more than %d: choose a shorter period", mostDeposits)
	}
	return list, sqldb.Wrap(err, "read the deposits of a statement")
}
