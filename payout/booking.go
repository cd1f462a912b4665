package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// The kinds of transaction.
const (
	kindDeposit  = "deposit"
	kindFund     = "fund"
	kindPay      = "pay"
	kindReclaim  = "reclaim"
	kindWithdraw = "withdraw"
	kindReturn   = "return" // of a withdrawal that was refused
)

// txn is one movement of money, not yet posted.
type txn struct {
	kind  string
	key   string // what it is for; a second one with this key is refused by the database
	lines []line // they sum to zero
}

type line struct {
	account account
	amount  rain.Money // what is added to the account; negative takes from it
}

// move is the transaction of two lines.
func move(kind, key string, from, to account, amount rain.Money) txn {
	return txn{kind: kind, key: key, lines: []line{{from, -amount}, {to, amount}}}
}

// booked is what book has done.
type booked struct {
	ids      map[string]int64       // by key
	balances map[account]rain.Money // of every account that was credited, afterwards
}

// overdraft is the error of a transaction that would take more from an account than it holds.
type overdraft struct {
	account account
	exists  bool
}

func (e *overdraft) Error() string {
	return fmt.Sprintf("%s: %s", e.account.id(), ErrInsufficientFunds)
}

func (e *overdraft) Unwrap() error { return ErrInsufficientFunds }

// worldFloor is as far below zero as world may go: every sum with a deposit still fits in 64 bits.
const worldFloor = -9000 * rain.MaxBudget

// errUnbalanced is a fault of this program: it refuses to write it down.
var errUnbalanced = errors.New("payout: the lines of a transaction do not sum to zero")

// book writes transactions of any kind, and is the only function that does. It checks that each sums to zero, and refuses
// with an *overdraft to take any account but world below zero. rows, which may be nil, writes what belongs to the
// transactions, once the players have been credited.
//
// The locks are taken in one order, so that nobody waits crosswise: first the players' balances, by their ids; then the
// unique keys of txn and of rows; then what many share (escrow, sponsor, world), by their ids. Who posts the same
// entry a second time waits for the first of its players, and finds everything committed then. And what all workers
// want is held for the last statements only.
//
// After an error tx must be rolled back. The error is [sqldb.ErrAgain] where another transaction came first with the same
// key: who reads again sees it.
func (l *Ledger) book(ctx context.Context, tx *sqldb.Tx, txns []txn, rows func(booked) error) (b booked, err error) {
	defer func() { err = againIfDuplicate(err) }()
	deltas, err := net(txns)
	if err != nil {
		return b, err
	}
	b.balances = make(map[account]rain.Money, len(deltas))
	own, shared := inKeyOrder(deltas)
	if err := applyDeltas(ctx, tx, own, deltas, b.balances); err != nil {
		return b, err
	}
	if b.ids, err = l.writeTxns(ctx, tx, txns); err != nil {
		return b, err
	}
	if rows != nil {
		if err := rows(b); err != nil {
			return b, err
		}
	}
	return b, applyDeltas(ctx, tx, shared, deltas, b.balances)
}

// againIfDuplicate turns the fault of having come second into the wish to read again and judge anew.
func againIfDuplicate(err error) error {
	if sqldb.IsDuplicate(err) {
		return fmt.Errorf("%w: %w", sqldb.ErrAgain, err)
	}
	return err
}

// net checks the transactions and adds up what they do to each account.
func net(txns []txn) (map[account]rain.Money, error) {
	deltas := map[account]rain.Money{}
	for _, t := range txns {
		amounts := make([]rain.Money, len(t.lines))
		for i, ln := range t.lines {
			amounts[i] = ln.amount
			sum, err := rain.Sum([]rain.Money{deltas[ln.account], ln.amount})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.key, err)
			}
			deltas[ln.account] = sum
		}
		if sum, err := rain.Sum(amounts); err != nil || sum != 0 || t.key == "" || len(t.lines) < 2 {
			return nil, fmt.Errorf("%w: %s %q", errUnbalanced, t.kind, t.key)
		}
	}
	return deltas, nil
}

// writeTxns inserts the transactions and their lines.
func (l *Ledger) writeTxns(ctx context.Context, tx *sqldb.Tx, txns []txn) (ids map[string]int64, err error) {
	// In the order of their keys: two workers that post the same entries meet at the first of them, and not crosswise.
	txns = slices.SortedFunc(slices.Values(txns), func(a, b txn) int { return cmp.Compare(a.key, b.key) })
	now := l.clock()
	rows := make([][]any, len(txns))
	keys := make([]string, len(txns))
	lines := 0
	for i, t := range txns {
		rows[i] = []any{t.kind, t.key, now}
		keys[i] = t.key
		lines += len(t.lines)
	}
	if err := tx.Insert(ctx, "txn", []string{"kind", "idem_key", "created_at"}, rows, sqldb.Merge{}); err != nil {
		return nil, err
	}
	if ids, err = txnIDs(ctx, tx, keys); err != nil {
		return nil, err
	}
	entries := make([][]any, 0, lines)
	for _, t := range txns {
		for i, ln := range t.lines {
			entries = append(entries, []any{ids[t.key], i, ln.account.id(), int64(ln.amount)})
		}
	}
	err = tx.Insert(ctx, "entry", []string{"txn_id", "line_no", "account_id", "amount"}, entries, sqldb.Merge{})
	return ids, err
}

// txnIDs asks for the ids that the database gave. Counting on from the first would need servers that number without gaps.
func txnIDs(ctx context.Context, q sqldb.Querier, keys []string) (map[string]int64, error) {
	ids := make(map[string]int64, len(keys))
	for chunk := range slices.Chunk(keys, sqldb.Chunk) {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id int64
			var key string
			err := scan(&id, &key)
			ids[key] = id
			return err
		}, "SELECT id, idem_key FROM txn WHERE idem_key IN "+sqldb.Marks(len(chunk)), sqldb.Args(chunk)...)
		if err != nil {
			return nil, fmt.Errorf("reading transaction ids: %w", err)
		}
	}
	return ids, nil
}

// lockBalances reads balances and keeps others from changing them until the end of the transaction. An account that does
// not exist is missing in the answer.
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

// applyDeltas changes balances in the given order, and notes those of the accounts it has credited.
func applyDeltas(ctx context.Context, tx *sqldb.Tx, order []account, deltas, balances map[account]rain.Money) error {
	for len(order) > 0 {
		a := order[0]
		if deltas[a] < 0 && a != world {
			if err := debit(ctx, tx, a, -deltas[a]); err != nil {
				return err
			}
			order = order[1:]
			continue
		}
		n := 1
		for n < len(order) && deltas[order[n]] >= 0 {
			n++
		}
		if err := credit(ctx, tx, order[:n], deltas, balances); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// credit adds to balances, creates the accounts that are new, and reads what all of them hold now. One statement both
// locks and changes the rows: were they locked by a first one, an account that appears between the two would
// be locked out of its turn.
func credit(ctx context.Context, tx *sqldb.Tx, accounts []account, deltas, balances map[account]rain.Money) error {
	rows := make([][]any, len(accounts))
	byID := make(map[string]account, len(accounts))
	ids := make([]any, len(accounts))
	for i, a := range accounts {
		id := a.id()
		rows[i], byID[id], ids[i] = []any{id, int64(deltas[a])}, a, id
	}
	columns := []string{"account_id", "amount"}
	if err := tx.Insert(ctx, "balance", columns, rows, sqldb.Merge{Key: columns[:1], Add: columns[1:]}); err != nil {
		return err
	}
	var created [][]any
	for chunk := range slices.Chunk(ids, sqldb.Chunk) {
		err := tx.Each(ctx, func(scan sqldb.Scan) error {
			var id string
			var amount rain.Money
			if err := scan(&id, &amount); err != nil {
				return err
			}
			a := byID[id]
			if a == world && amount < worldFloor {
				return &overdraft{account: a, exists: true}
			}
			if amount == deltas[a] { // so it may have begun with nothing just now
				created = append(created, []any{id, a.kind, a.owner})
			}
			balances[a] = amount
			return nil
		}, "SELECT account_id, amount FROM balance WHERE account_id IN "+sqldb.Marks(len(chunk))+" ORDER BY account_id", chunk...)
		if err != nil {
			return fmt.Errorf("reading balances: %w", err)
		}
	}
	return tx.Insert(ctx, "account", []string{"id", "owner_type", "owner_id"}, created, sqldb.Merge{Key: []string{"id"}})
}

// debit takes from a balance only what is there.
func debit(ctx context.Context, tx *sqldb.Tx, a account, amount rain.Money) error {
	n, err := tx.Exec(ctx, "UPDATE balance SET amount = amount - ? WHERE account_id = ? AND amount >= ?", int64(amount), a.id(), int64(amount))
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
