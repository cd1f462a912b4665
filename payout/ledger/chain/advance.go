package chain

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
)

// Advance goes along the stripes from marks by some rows, as of the moment of q, and calls see with the id of each row,
// and broken for each place at which a chain is not whole. End tells whether it has come to the ends of all stripes;
// else the marks are how far it has come, and the next goes on from there.
func Advance(ctx context.Context, q sqldb.Querier, from Marks, rows int64, see func(book string, id int64),
	broken func(Break)) (walked Walked, end bool, err error) {
	w := newWalk(from, broken)
	w.see, w.left = see, rows
	for _, b := range books {
		if err := w.some(ctx, q, b); err != nil {
			return Walked{}, false, fmt.Errorf("walking the chain of %s: %w", b.table, err)
		}
		if w.left <= 0 {
			return w.done, false, nil
		}
		if err := w.loose(ctx, q, b); err != nil {
			return Walked{}, false, fmt.Errorf("looking for rows of %s without a chain: %w", b.table, err)
		}
	}
	return w.done, true, nil
}

// some goes along the stripes of a book while there are rows left to look at.
func (w *walk) some(ctx context.Context, q sqldb.Querier, b book) error {
	numbers, err := w.stripes(ctx, q, b)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		for more := true; more && w.left > 0; {
			if more, err = w.page(ctx, q, b, Stripe{b.table, n}); err != nil {
				return err
			}
		}
		if w.left <= 0 {
			return nil
		}
	}
	return nil
}

// Ends are marks as a root or a checkpoint has them, in the order of their books and stripes.
func (m Marks) Ends() []End {
	stripes := make([]Stripe, 0, len(m))
	for s, at := range m {
		if at.Links > 0 { // else nothing is said about it
			stripes = append(stripes, s)
		}
	}
	slices.SortFunc(stripes, func(a, b Stripe) int {
		return cmp.Or(cmp.Compare(a.Book, b.Book), cmp.Compare(a.Number, b.Number))
	})
	ends := make([]End, len(stripes))
	for i, s := range stripes {
		ends[i] = End{s.Book, s.Number, m[s].Links, m[s].Hash.String()}
	}
	return ends
}

// MarksOf are the marks that ends stand for.
func MarksOf(ends []End) Marks {
	marks := Marks{}
	for _, e := range ends {
		m := Mark{Links: e.Links}
		if raw, err := hex.DecodeString(e.Hash); err == nil && len(raw) == len(m.Hash) {
			m.Hash = Hash(raw)
		}
		marks[Stripe{e.Book, e.Stripe}] = m
	}
	return marks
}

// TxnsBetween are the ids of the transactions behind marks, up to others.
func TxnsBetween(ctx context.Context, q sqldb.Querier, from, to Marks) (ids []int64, err error) {
	for s, end := range to {
		if s.Book != Txns {
			continue
		}
		of, err := sqldb.Column[int64](ctx, q, "SELECT id FROM txn WHERE stripe = ? AND link > ? AND link <= ?",
			s.Number, from[s].Links, end.Links)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	return ids, nil
}

// Between goes along the stripes from marks up to others, and calls see and broken as Advance does.
func Between(ctx context.Context, q sqldb.Querier, from, to Marks, see func(book string, id int64),
	broken func(Break)) (links int64, err error) {
	w := newWalk(from, broken)
	w.see, w.until = see, to
	for _, b := range books {
		if err := w.some(ctx, q, b); err != nil {
			return 0, fmt.Errorf("walking the chain of %s: %w", b.table, err)
		}
	}
	return w.done.Links, nil
}

// TxnsAfter are the ids of the transactions behind the marks, in their order.
func TxnsAfter(ctx context.Context, q sqldb.Querier, from Marks) (ids []int64, err error) {
	stripes, err := sqldb.Column[int64](ctx, q, "SELECT stripe FROM chain_head WHERE book = ? ORDER BY stripe", Txns)
	if err != nil {
		return nil, err
	}
	for _, n := range stripes {
		of, err := sqldb.Column[int64](ctx, q, "SELECT id FROM txn WHERE stripe = ? AND link > ?", n,
			from[Stripe{Txns, n}].Links)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.Sort(ids)
	return ids, nil
}
