package booking

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// movement is the net change of one account by some transactions.
type movement struct {
	Account
	delta   rain.Money // negative takes from the account
	balance rain.Money // the balance afterwards, once it is credited
	known   bool
}

// Movements are in lock order: the players' own accounts before the shared ones, each by their ids. See compareLocks.
type Movements []movement

// net checks the transactions and sums their changes by account.
func net(txns []Txn) (Movements, error) {
	lines := 0
	for i := range txns {
		lines += len(txns[i].Lines)
	}
	all := make(Movements, 0, lines)
	var amounts []rain.Money
	for i := range txns {
		t := &txns[i]
		amounts = amounts[:0]
		for _, ln := range t.Lines {
			amounts = append(amounts, ln.Amount)
			all = append(all, movement{Account: ln.Account, delta: ln.Amount})
		}
		if sum, err := rain.Sum(amounts); err != nil || sum != 0 || t.Key == "" || len(t.Lines) < 2 {
			return nil, fmt.Errorf("%w: %s %q", ErrUnbalanced, t.Kind, t.Key)
		}
	}
	slices.SortFunc(all, func(a, b movement) int { return compareLocks(a.Account, b.Account) })
	return merge(all)
}

func merge(all Movements) (Movements, error) {
	merged := all[:0]
	for _, m := range all {
		if n := len(merged); n > 0 && merged[n-1].Account == m.Account {
			sum, err := rain.Sum([]rain.Money{merged[n-1].delta, m.delta})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.ID(), err)
			}
			merged[n-1].delta = sum
			continue
		}
		merged = append(merged, m)
	}
	return merged, nil
}

// parted splits the movements into the players' own and the shared accounts.
func (all Movements) parted() (own, shared Movements) {
	n := 0
	for n < len(all) && all[n].Kind == KindUser {
		n++
	}
	return all[:n], all[n:]
}

// Balance returns an account's balance afterwards, if the account was credited.
func (all Movements) Balance(a Account) (rain.Money, bool) {
	i, found := slices.BinarySearchFunc(all, a, func(m movement, a Account) int { return compareLocks(m.Account, a) })
	if !found {
		return 0, false
	}
	return all[i].balance, all[i].known
}

// apply changes balances in the given order, and records the balances of credited accounts.
func (all Movements) apply(ctx context.Context, tx *sqldb.Tx) error {
	for len(all) > 0 {
		if m := all[0]; m.delta < 0 && m.Kind != KindWorld {
			if err := debit(ctx, tx, m.Account, -m.delta); err != nil {
				return err
			}
			all = all[1:]
			continue
		}
		n := 1
		for n < len(all) && all[n].delta >= 0 {
			n++
		}
		if err := all[:n].credit(ctx, tx); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// credit adds deltas to balances, creates new accounts, and reads the new balances. Only World's delta may be
// negative. One statement both locks and changes the rows. With two statements, an account that is created between
// them would be locked out of order.
func (all Movements) credit(ctx context.Context, tx *sqldb.Tx) error {
	var id sql.RawBytes
	var amount int64
	row, next := []any{&id, &amount}, 0
	return tx.InsertReading(ctx, intoBalance, len(all), func(i int, r *sqldb.Row) {
		all[i].put(r)
		r.Int(int64(all[i].delta))
	}, sqldb.Back{Key: "account_id", Columns: intoBalance.Columns, Row: func(scan sqldb.Scan) error {
		if err := scan(row...); err != nil {
			return err
		}
		m := all.find(id, next)
		if m == nil {
			return fmt.Errorf("credit: the database returned the balance of %q, which was not requested", id)
		}
		next++
		m.balance, m.known = rain.Money(amount), true
		if m.Kind == KindWorld && m.balance < stripeFloor {
			return &OverdraftError{account: m.Account, Exists: true}
		}
		return nil
	}})
}

// find returns an account's movement, or nil. It tries the index likely first: databases keep the order of insertion.
func (all Movements) find(id []byte, likely int) *movement {
	if likely < len(all) && all[likely].is(id) {
		return &all[likely]
	}
	i, found := slices.BinarySearchFunc(all, string(id),
		func(m movement, id string) int { return cmp.Compare(m.ID(), id) })
	if !found {
		return nil
	}
	return &all[i]
}
