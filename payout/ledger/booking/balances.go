package booking

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// BalanceOf reads an account's balance, in minor units. If the account never had money, the balance is 0 and found is
// false. The balance of World is the sum of its rows.
func BalanceOf(ctx context.Context, q sqldb.Querier, a Account) (balance rain.Money, found bool, err error) {
	if a == World {
		var rows int
		_, err = q.First(ctx, []any{&rows, (*int64)(&balance)},
			"SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM balance WHERE "+ofWorld)
		found = rows > 0
	} else {
		found, err = q.First(ctx, []any{(*int64)(&balance)}, "SELECT amount FROM balance WHERE account_id = ?", a.ID())
	}
	if err != nil {
		return 0, false, fmt.Errorf("balance of %s: %w", a.ID(), err)
	}
	return balance, found, nil
}

// UserBalances reads the balances of players, in minor units. A player who never had money has 0.
func UserBalances(ctx context.Context, q sqldb.Querier, users []string) (map[string]rain.Money, error) {
	balances := make(map[string]rain.Money, len(users))
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i], balances[u] = UserAccount(u).ID(), 0
	}
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		var amount rain.Money
		err := scan(&id, &amount)
		balances[id[len(KindUser)+1:]] = amount
		return err
	}, "SELECT account_id, amount FROM balance WHERE account_id IN", ids)
	if err != nil {
		return nil, fmt.Errorf("balances of players: %w", err)
	}
	return balances, nil
}

// LockBalances reads and locks balances until the transaction ends. Accounts that do not exist are missing.
func LockBalances(ctx context.Context, tx *sqldb.Tx, order []Account) (map[Account]rain.Money, error) {
	balances := make(map[Account]rain.Money, len(order))
	byID := make(map[string]Account, len(order))
	for chunk := range slices.Chunk(order, sqldb.Chunk) {
		ids := make([]any, len(chunk))
		for i, a := range chunk {
			ids[i], byID[a.ID()] = a.ID(), a
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
			return nil, fmt.Errorf("lock balances: %w", err)
		}
	}
	return balances, nil
}

// debit takes from a balance. It fails if the balance is too small.
func debit(ctx context.Context, tx *sqldb.Tx, a Account, amount rain.Money) error {
	n, err := tx.Exec(ctx, "UPDATE balance SET amount = amount - ? WHERE account_id = ? AND amount >= ?", int64(amount),
		a.ID(), int64(amount))
	if err != nil {
		return fmt.Errorf("debit of %s: %w", a.ID(), err)
	}
	if n == 1 {
		return nil
	}
	_, exists, err := BalanceOf(ctx, tx, a)
	if err != nil {
		return err
	}
	return &OverdraftError{account: a, Exists: exists}
}
