package ledger

import (
	"context"
	"fmt"
	"math"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Statements is what a statement of a provider or a bank is held against.
type Statements struct{ db *sqldb.DB }

// WithdrawalsByID are the withdrawals of some ids; unknown ones are missing in the answer.
func (s *Statements) WithdrawalsByID(ctx context.Context, ids []string) (map[string]Withdrawal, error) {
	found := make(map[string]Withdrawal, len(ids))
	err := sqldb.EachIn(ctx, s.db, func(scan sqldb.Scan) error {
		w, err := scanWithdrawal(scan)
		found[w.ID] = w
		return err
	}, withdrawalSelect+"WHERE id IN", ids)
	if err != nil {
		return nil, fmt.Errorf("withdrawals of a statement: %w", err)
	}
	return found, nil
}

// statementPage is how many rows are held at once.
const statementPage = 1000

// EachPaid calls yield for every withdrawal that was asked for from the time since on, and paid from one time up to
// another.
func (s *Statements) EachPaid(ctx context.Context, since, from, to int64, yield func(Withdrawal) error) error {
	for at, id := since, ""; ; {
		page, err := sqldb.List(ctx, s.db, scanWithdrawal, withdrawalSelect+"WHERE state = ? AND created_at >= ? AND "+
			"(created_at > ? OR id > ?) AND created_at < ? ORDER BY created_at, id LIMIT ?",
			string(WithdrawalPaid), at, at, id, to, statementPage)
		if err != nil {
			return fmt.Errorf("withdrawals that were paid: %w", err)
		}
		for _, w := range page {
			at, id = w.CreatedAt, w.ID
			if w.FinishedAt < from || w.FinishedAt >= to {
				continue
			}
			if err := yield(w); err != nil {
				return err
			}
		}
		if len(page) < statementPage {
			return nil
		}
	}
}

// Deposit is a sponsor's money as it was entered.
type Deposit struct {
	Sponsor, Reference string
	Amount             rain.Money
	At                 int64 // Unix ms
}

// mostDeposits is how many deposits are held against one statement.
const mostDeposits = 200_000

// Deposits are those that were entered from one time up to another.
func (s *Statements) Deposits(ctx context.Context, from, to int64) ([]Deposit, error) {
	list, err := sqldb.List(ctx, s.db, func(scan sqldb.Scan) (d Deposit, err error) {
		err = scan(&d.Sponsor, &d.Reference, &d.Amount, &d.At)
		return d, err
	}, "SELECT sponsor, reference, amount, created_at FROM deposit WHERE created_at >= ? AND created_at < ? "+
		"ORDER BY created_at LIMIT ?", max(from, 0), min(to, math.MaxInt64), mostDeposits+1)
	if err == nil && len(list) > mostDeposits {
		err = fmt.Errorf("more than %d: take a shorter period", mostDeposits)
	}
	if err != nil {
		return nil, fmt.Errorf("deposits of a statement: %w", err)
	}
	return list, nil
}
