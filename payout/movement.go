package payout

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
	account
	delta   rain.Money // what is added; negative takes from it
	balance rain.Money // what the account holds afterwards; known once it is credited
	known   bool
}

// movements are in the order in which balances are locked: the players' own before those that many share, each by
// their ids. See inKeyOrder.
type movements []movement

// net checks the transactions and adds up what they do to each account.
func net(txns []txn) (movements, error) {
	lines := 0
	for i := range txns {
		lines += len(txns[i].lines)
	}
	all := make(movements, 0, lines)
	var amounts []rain.Money
	for i := range txns {
		t := &txns[i]
		amounts = amounts[:0]
		for _, ln := range t.lines {
			amounts = append(amounts, ln.amount)
			all = append(all, movement{account: ln.account, delta: ln.amount})
		}
		if sum, err := rain.Sum(amounts); err != nil || sum != 0 || t.key == "" || len(t.lines) < 2 {
			return nil, fmt.Errorf("%w: %s %q", errUnbalanced, t.kind, t.key)
		}
	}
	slices.SortFunc(all, func(a, b movement) int { return inLockOrder(a.account, b.account) })
	return merge(all)
}

// merge makes one movement of those of the same account.
func merge(all movements) (movements, error) {
	merged := all[:0]
	for _, m := range all {
		if n := len(merged); n > 0 && merged[n-1].account == m.account {
			sum, err := rain.Sum([]rain.Money{merged[n-1].delta, m.delta})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.id(), err)
			}
			merged[n-1].delta = sum
			continue
		}
		merged = append(merged, m)
	}
	return merged, nil
}

// parted are the players' own, and what many share.
func (all movements) parted() (own, shared movements) {
	n := 0
	for n < len(all) && all[n].kind == kindUser {
		n++
	}
	return all[:n], all[n:]
}

// balance is what an account holds afterwards, if it was credited.
func (all movements) balance(a account) (rain.Money, bool) {
	i, found := slices.BinarySearchFunc(all, a, func(m movement, a account) int { return inLockOrder(m.account, a) })
	if !found {
		return 0, false
	}
	return all[i].balance, all[i].known
}

// apply changes balances in the given order, and notes those of the accounts it has credited.
func (all movements) apply(ctx context.Context, tx *sqldb.Tx) error {
	for len(all) > 0 {
		if m := all[0]; m.delta < 0 && m.account != world {
			if err := debit(ctx, tx, m.account, -m.delta); err != nil {
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
func (all movements) credit(ctx context.Context, tx *sqldb.Tx) error {
	var created []account
	var id sql.RawBytes
	var amount int64
	row, next := []any{&id, &amount}, 0
	err := tx.InsertReading(ctx, intoBalance, len(all), func(i int, r *sqldb.Row) {
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
		if m.account == world && m.balance < worldFloor {
			return &overdraft{account: world, exists: true}
		}
		if m.balance == m.delta { // so it may have begun with nothing just now
			created = append(created, m.account)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	slices.SortFunc(created, byID) // as everything that several workers insert
	return tx.InsertEach(ctx, intoAccount, len(created), func(i int, r *sqldb.Row) {
		created[i].put(r)
		r.Text(created[i].kind)
		r.Text(created[i].owner)
	})
}

// find is the movement of the account with this id, and nil if there is none. It is mostly the one at likely:
// databases tell rows in the order in which they got them, and need not.
func (all movements) find(id []byte, likely int) *movement {
	if likely < len(all) && all[likely].is(id) {
		return &all[likely]
	}
	i, found := slices.BinarySearchFunc(all, string(id),
		func(m movement, id string) int { return cmp.Compare(m.id(), id) })
	if !found {
		return nil
	}
	return &all[i]
}
