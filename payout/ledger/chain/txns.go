package chain

import (
	"context"

	"redrain/internal/sqldb"
)

// CheckTxn holds one transaction, by its key, against the link before it, as CheckTxns does.
func CheckTxn(ctx context.Context, q sqldb.Querier, key string, broken func(Break)) error {
	ids, err := sqldb.Column[int64](ctx, q, "SELECT id FROM txn WHERE idem_key = ?", key)
	if err != nil {
		return err
	}
	return CheckTxns(ctx, q, ids, broken)
}

// CheckTxns holds some transactions against the links before them, and calls broken for each that is not what was
// chained. It says nothing about those that are not there or belong to no chain, nor where the link before is gone: the
// walk names these.
func CheckTxns(ctx context.Context, q sqldb.Querier, ids []int64, broken func(Break)) error {
	if len(ids) == 0 {
		return nil
	}
	before, err := linksBefore(ctx, q, ids)
	if err != nil {
		return err
	}
	txns, stripes, err := txnsByID(ctx, q, ids)
	if err != nil || len(txns) == 0 {
		return err
	}
	rows, err := txnContents(ctx, q, txns)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s := Stripe{Txns, stripes[r.id]}
		was := first(s.Book, s.Number)
		if r.link > 1 {
			hash := before[r.id]
			if len(hash) != len(was) {
				continue
			}
			was = Hash(hash)
		}
		if len(r.hash) != len(was) || after(was, r.content) != Hash(r.hash) {
			broken(Break{s, r.link, r.id, r.name, notWhatWasChained})
		}
	}
	return nil
}

// State is what can be said of a row of a chain.
type State int

// The states. The zero value says the worst.
const (
	Changed State = iota // it is not what was chained, or is gone
	Whole
	Unproved // the link before it is gone, so nobody can say
)

// StateOf tells whether a transaction, by its key, is there and is what was chained, with its lines and its papers.
func StateOf(ctx context.Context, q sqldb.Querier, key string) (State, error) {
	ids, err := sqldb.Column[int64](ctx, q, "SELECT id FROM txn WHERE idem_key = ?", key)
	if err != nil || len(ids) != 1 {
		return Changed, err
	}
	before, err := linksBefore(ctx, q, ids)
	if err != nil {
		return Changed, err
	}
	txns, stripes, err := txnsByID(ctx, q, ids)
	if err != nil || len(txns) != 1 {
		return Changed, err
	}
	rows, err := txnContents(ctx, q, txns)
	if err != nil {
		return Changed, err
	}
	r := rows[0]
	was := first(Txns, stripes[r.id])
	if r.link > 1 {
		if len(before[r.id]) != len(was) {
			return Unproved, nil
		}
		was = Hash(before[r.id])
	}
	if len(r.hash) == len(was) && after(was, r.content) == Hash(r.hash) {
		return Whole, nil
	}
	return Changed, nil
}

// RecordState is StateOf of a row of Audits, Events or Histories, by its id.
func RecordState(ctx context.Context, q sqldb.Querier, of string, id int64) (State, error) {
	var stripe, link int64
	var before []byte
	found, err := q.First(ctx, []any{&stripe, &link, &before}, "SELECT r.stripe, r.link, COALESCE(b.hash, s.hash, '') "+
		"FROM "+of+" r LEFT JOIN "+of+" b ON b.stripe = r.stripe AND b.link = r.link - 1 LEFT JOIN chain_stub s "+
		"ON s.book = '"+of+"' AND s.stripe = r.stripe AND s.link = r.link - 1 WHERE r.id = ?", id)
	if err != nil || !found {
		return Changed, err
	}
	links, err := RecordLinks(ctx, q, of, stripe, link-1, 1)
	if err != nil || len(links) != 1 || links[0].ID != id {
		return Changed, err
	}
	was := first(of, stripe)
	if link > 1 {
		if len(before) != len(was) {
			return Unproved, nil
		}
		was = Hash(before)
	}
	if after(was, links[0].Content) == links[0].Hash {
		return Whole, nil
	}
	return Changed, nil
}

// linksBefore are the hashes of the links before those of some transactions, also of links whose rows have left the
// books.
func linksBefore(ctx context.Context, q sqldb.Querier, ids []int64) (map[int64][]byte, error) {
	before := make(map[int64][]byte, len(ids))
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var hash []byte
		err := scan(&id, &hash)
		before[id] = hash
		return err
	}, "SELECT t.id, COALESCE(b.hash, s.hash, '') FROM txn t "+
		"LEFT JOIN txn b ON b.stripe = t.stripe AND b.link = t.link - 1 "+
		"LEFT JOIN chain_stub s ON s.book = '"+Txns+"' AND s.stripe = t.stripe AND s.link = t.link - 1 "+
		"WHERE t.id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	return before, err
}

// txnsByID reads transactions that belong to a chain, and their stripes.
func txnsByID(ctx context.Context, q sqldb.Querier, ids []int64) (txns []txnRow, stripes map[int64]int64, err error) {
	stripes = make(map[int64]int64, len(ids))
	txns, err = sqldb.List(ctx, q, func(scan sqldb.Scan) (t txnRow, err error) {
		var stripe int64
		err = scan(&t.id, &stripe, &t.link, &t.hash, &t.kind, &t.name, &t.at)
		stripes[t.id] = stripe
		return t, err
	}, "SELECT id, stripe, link, hash, kind, idem_key, created_at FROM txn WHERE stripe IS NOT NULL "+
		"AND link IS NOT NULL AND id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	return txns, stripes, err
}
