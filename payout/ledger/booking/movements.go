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

// movement is what some transactions do to one account, all together.
type movement struct {
	Account
	delta   rain.Money // what is added; negative takes from it
	balance rain.Money // what the account holds afterwards; known once it is credited
	known   bool
}

// Movements are in the order in which balances are locked: the players' own before those that many share, each by
// their ids. See inKeyOrder.
type Movements []movement

// net checks the transactions and adds up what they do to each account.
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
	slices.SortFunc(all, func(a, b movement) int { return inLockOrder(a.Account, b.Account) })
	return merge(all)
}

// merge makes one movement of those of the same account.
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

// parted are the players' own, and what many share.
func (all Movements) parted() (own, shared Movements) {
	n := 0
	for n < len(all) && all[n].Kind == KindUser {
		n++
	}
	return all[:n], all[n:]
}

// Balance is what an account holds afterwards, if it was credited.
func (all Movements) Balance(a Account) (rain.Money, bool) {
	i, found := slices.BinarySearchFunc(all, a, func(m movement, a Account) int { return inLockOrder(m.Account, a) })
	if !found {
		return 0, false
	}
	return all[i].balance, all[i].known
}

// apply changes balances in the given order, and notes those of the accounts it has credited.
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

// credit adds to balances, creates the accounts that are new, and reads what all of them hold now. One statement both
// locks and changes the rows: were they locked by a first one, an account that appears between the two would
// be locked out of its turn.
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
			return fmt.Errorf("payout: the database tells the balance of %q, which was not asked for", id)
		}
		next++
		m.balance, m.known = rain.Money(amount), true
		if m.Kind == KindWorld && m.balance < stripeFloor {
			return &OverdraftError{account: m.Account, Exists: true}
		}
		return nil
	}})
}

// find is the movement of the account with this id, and nil if there is none. It is mostly the one at likely:
// databases tell rows in the order in which they got them, and need not.
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
