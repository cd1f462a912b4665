package payout

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

func balanceOf(ctx context.Context, q sqldb.Querier, a account) (balance rain.Money, found bool, err error) {
	found, err = q.First(ctx, []any{(*int64)(&balance)}, "SELECT amount FROM balance WHERE account_id = ?", a.id())
	if err != nil {
		return 0, false, fmt.Errorf("balance of %s: %w", a.id(), err)
	}
	return balance, found, nil
}

func userBalances(ctx context.Context, q sqldb.Querier, users []string) (map[string]rain.Money, error) {
	balances := make(map[string]rain.Money, len(users))
	for chunk := range slices.Chunk(users, sqldb.Chunk) {
		ids := make([]any, len(chunk))
		for i, u := range chunk {
			ids[i], balances[u] = userAccount(u).id(), 0
		}
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id string
			var amount int64
			err := scan(&id, &amount)
			balances[id[len(kindUser)+1:]] = rain.Money(amount)
			return err
		}, "SELECT account_id, amount FROM balance WHERE account_id IN "+sqldb.Marks(len(ids)), ids...)
		if err != nil {
			return nil, fmt.Errorf("balances of players: %w", err)
		}
	}
	return balances, nil
}

// lockBalances reads balances and keeps others from changing them until the end of the transaction. An account that
// does not exist is missing in the answer.
func lockBalances(ctx context.Context, tx *sqldb.Tx, order []account) (map[account]rain.Money, error) {
	balances := make(map[account]rain.Money, len(order))
	byID := make(map[string]account, len(order))
	for chunk := range slices.Chunk(order, sqldb.Chunk) {
		ids := make([]any, len(chunk))
		for i, a := range chunk {
			ids[i], byID[a.id()] = a.id(), a
		}
		err := tx.Each(ctx, func(scan sqldb.Scan) error {
			var id string
			var amount int64
			err := scan(&id, &amount)
			balances[byID[id]] = rain.Money(amount)
			return err
		}, "SELECT account_id, amount FROM balance WHERE account_id IN "+sqldb.Marks(len(ids))+
			" ORDER BY account_id"+tx.ForUpdate(), ids...)
		if err != nil {
			return nil, fmt.Errorf("locking balances: %w", err)
		}
	}
	return balances, nil
}

// debit takes from a balance only what is there.
func debit(ctx context.Context, tx *sqldb.Tx, a account, amount rain.Money) error {
	n, err := tx.Exec(ctx, "UPDATE balance SET amount = amount - ? WHERE account_id = ? AND amount >= ?", int64(amount),
		a.id(), int64(amount))
	if err != nil {
		return fmt.Errorf("debit of %s: %w", a.id(), err)
	}
	if n == 1 {
		return nil
	}
	_, exists, err := balanceOf(ctx, tx, a)
	if err != nil {
		return err
	}
	return &overdraft{account: a, exists: exists}
}
