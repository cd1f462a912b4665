package booking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// Booked is the result of Book.
type Booked struct {
	IDs   map[string]int64 // by key
	Moves Movements        // of all transactions together
}

// Book writes transactions of any kind, and is the only function that does. It checks that each sums to zero. It fails
// with an *OverdraftError if an account other than world would go below zero. Book replaces World by one stripe. The
// callback writeSources may be nil. It writes the source documents, after the players have been credited.
//
// All callers lock in one order, so transactions cannot deadlock. First come the players' balances, by their ids, then
// the unique keys of txn and of the source documents. The shared accounts (escrow, sponsor, world), by their ids, are
// last, so their locks are short. A second posting of an entry waits for the first of its players, and then finds
// everything committed.
//
// After an error tx must be rolled back. The error is [sqldb.ErrAgain] if another transaction with the same key came
// first: the caller should read again.
func Book(ctx context.Context, tx *sqldb.Tx, now int64, txns []Txn,
	writeSources func(Booked) error) (b Booked, err error) {
	defer func() { err = AgainIfDuplicate(err) }()
	if b.Moves, err = net(txns); err != nil {
		return b, err
	}
	own, shared := b.Moves.parted()
	if err := own.apply(ctx, tx); err != nil {
		return b, err
	}
	if txns, err = spread(ctx, tx, shared, txns); err != nil {
		return b, err
	}
	if b.IDs, err = writeTxns(ctx, tx, now, txns); err != nil {
		return b, err
	}
	if writeSources != nil {
		if err := writeSources(b); err != nil {
			return b, err
		}
	}
	return b, shared.apply(ctx, tx)
}

// ErrKeyReused is the error of a key that belongs to another transaction.
var ErrKeyReused = errors.New("the transaction's key was used for another one")

// BookOnce is Book for a transaction that may be requested again. If a transaction with the same key and lines exists,
// BookOnce writes nothing, does not call writeSources, and booked is false. The error is ErrKeyReused if the existing
// transaction has other lines.
func BookOnce(ctx context.Context, tx *sqldb.Tx, now int64, t Txn,
	writeSources func(Booked) error) (booked bool, err error) {
	next, same := 0, true
	err = tx.Each(ctx, func(scan sqldb.Scan) error {
		var account string
		var amount rain.Money
		err := scan(&account, &amount)
		same = same && next < len(t.Lines) && t.Lines[next].Account.ID() == Whole(account) &&
			t.Lines[next].Amount == amount
		next++
		return err
	}, "SELECT e.account_id, e.amount FROM txn t JOIN entry e ON e.txn_id = t.id WHERE t.idem_key = ? "+
		"ORDER BY e.line_no", t.Key)
	switch {
	case err != nil:
		return false, fmt.Errorf("look up transaction %s: %w", t.Key, err)
	case next == 0:
		_, err := Book(ctx, tx, now, []Txn{t}, writeSources)
		return err == nil, err
	case !same || next != len(t.Lines):
		return false, ErrKeyReused
	}
	return false, nil
}

// AgainIfDuplicate turns a duplicate key into [sqldb.ErrAgain].
func AgainIfDuplicate(err error) error {
	if sqldb.IsDuplicate(err) {
		return fmt.Errorf("%w: %w", sqldb.ErrAgain, err)
	}
	return err
}

func writeTxns(ctx context.Context, tx *sqldb.Tx, now int64, txns []Txn) (map[string]int64, error) {
	// In the order of their keys: two workers that post the same entries meet at the first of them.
	txns = slices.SortedFunc(slices.Values(txns), func(a, b Txn) int { return cmp.Compare(a.Key, b.Key) })
	ids := make(map[string]int64, len(txns))
	hashes := hashTxns(now, txns)
	// We read the ids back, because a server may leave gaps between them.
	err := tx.InsertReading(ctx, intoTxn, len(txns), func(i int, r *sqldb.Row) {
		r.Text(txns[i].Kind)
		r.Text(txns[i].Key)
		r.Int(now)
		r.Bytes(txns[i].Papers[:])
		r.Bytes(hashes[i][:])
	}, sqldb.Back{Key: "idem_key", Columns: []string{"id", "idem_key"}, Row: func(scan sqldb.Scan) error {
		var id int64
		var key string
		err := scan(&id, &key)
		ids[key] = id
		return err
	}})
	if err != nil {
		return nil, err
	}
	return ids, writeLines(ctx, tx, txns, ids)
}

// hashTxns hashes transactions, as package chain verifies them.
func hashTxns(now int64, txns []Txn) []chain.Hash {
	var c chain.Content
	hashes := make([]chain.Hash, len(txns))
	for i := range txns {
		t := &txns[i]
		c.Txn(t.Kind, t.Key, now, t.Papers[:])
		for n, ln := range t.Lines {
			c.Int(int64(n))
			ln.Account.addTo(&c)
			c.Int(int64(ln.Amount))
		}
		hashes[i] = c.Sum()
	}
	return hashes
}

func writeLines(ctx context.Context, tx *sqldb.Tx, txns []Txn, ids map[string]int64) error {
	type place struct{ txn, line int }
	var places []place
	for t := range txns {
		for n := range txns[t].Lines {
			places = append(places, place{t, n})
		}
	}
	return tx.InsertEach(ctx, intoEntry, len(places), func(i int, r *sqldb.Row) {
		t := &txns[places[i].txn]
		ln := t.Lines[places[i].line]
		r.Int(ids[t.Key])
		r.Int(int64(places[i].line))
		ln.Account.put(r)
		r.Int(int64(ln.Amount))
	})
}

// The tables and columns of a posting.
var (
	intoTxn     = sqldb.Into{Table: "txn", Columns: []string{"kind", "idem_key", "created_at", "papers", "hash"}}
	intoEntry   = sqldb.Into{Table: "entry", Columns: []string{"txn_id", "line_no", "account_id", "amount"}}
	intoBalance = sqldb.Into{
		Table: "balance", Columns: []string{"account_id", "amount"},
		Merge: sqldb.Merge{Key: []string{"account_id"}, Add: []string{"amount"}},
	}
)
