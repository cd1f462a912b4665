package chain

import (
	"context"
	"fmt"
	"math"

	"redrain/internal/sqldb"
)

const (
	pageRows = 100    // contents that are read at once; a transaction may have 4,000 lines
	stepRows = 10_000 // the approximate number of rows in one step
)

// Walk reads the rows of the books in the order of their ids. It compares them with their hashes and their blocks. The
// zero value begins with the first row. The rows never change, so it needs no snapshot.
type Walk struct {
	// SkipTxns leaves out the contents of transactions, which the caller has checked.
	SkipTxns bool
	Found    func(fault string)
	Rows     int64 // that were read
	Blocks   int64 // that were compared

	trusted []Block // the rows up to these are not read
	book    int     // index in books
	last    Block   // the newest compared block
}

// Step reads about 10,000 rows. It reports whether there is more.
func (w *Walk) Step(ctx context.Context, q sqldb.Querier) (more bool, err error) {
	for end := w.Rows + w.Blocks + stepRows; w.book < len(books) && w.Rows+w.Blocks < end; {
		if err := w.step(ctx, q, books[w.book]); err != nil {
			return false, fmt.Errorf("verify the hashes of %s: %w", books[w.book], err)
		}
	}
	return w.book < len(books), nil
}

// step compares the rows of the next block of a book, or the rows after the last block.
func (w *Walk) step(ctx context.Context, q sqldb.Querier, book string) error {
	if w.last.Book != book {
		w.last = Block{Book: book, Last: math.MinInt64}
		for _, b := range w.trusted {
			if b.Book == book {
				w.last = b
			}
		}
	}
	next, found, err := blockTable.Find(ctx, q, "WHERE book = ? AND number > ? ORDER BY number LIMIT 1", book,
		w.last.Number)
	if err != nil {
		return err
	}
	if !found {
		w.book++
		return w.contents(ctx, q, math.MaxInt64)
	}
	if err := w.contents(ctx, q, next.Last); err != nil {
		return err
	}
	return w.compare(ctx, q, next)
}

// contents compares the rows after the last block, up to an id, with their own hashes.
func (w *Walk) contents(ctx context.Context, q sqldb.Querier, until int64) error {
	check := CheckTxns
	if w.last.Book == Audits {
		check = checkAudit
	} else if w.SkipTxns {
		return nil
	}
	after := w.last.Last
	for rows := pageRows; rows == pageRows; {
		ids, err := sqldb.Column[int64](ctx, q, "SELECT id FROM "+w.last.Book+" WHERE id > ? AND id <= ? "+
			"ORDER BY id LIMIT ?", after, until, pageRows)
		if rows = len(ids); err != nil || rows == 0 {
			return err
		}
		if err := check(ctx, q, ids, w.Found); err != nil {
			return err
		}
		after = ids[rows-1]
		w.Rows += int64(rows)
	}
	return nil
}

// compare hashes the rows of a block again. If a block was removed, its rows are not compared with a block.
func (w *Walk) compare(ctx context.Context, q sqldb.Querier, want Block) error {
	found := func(format string, args ...any) {
		w.Found(fmt.Sprintf("block %d of the table %s ", want.Number, want.Book) + fmt.Sprintf(format, args...))
	}
	last := w.last
	w.last = want
	if want.Number != last.Number+1 {
		found("does not follow block %d: blocks were removed", last.Number)
		return nil
	}
	is, err := last.next(ctx, q, want.Last, min(max(want.Rows, 0), blockRows)+1)
	if err != nil {
		return err
	}
	w.Blocks++
	if w.SkipTxns && want.Book == Txns {
		w.Rows += is.Rows
	}
	switch {
	case is.Rows != want.Rows || is.Last != want.Last:
		found("has %d of %d rows up to the id %d: rows were removed, added or numbered otherwise", is.Rows, want.Rows,
			want.Last)
	case is.Hash != want.Hash:
		found("is not the hash of its %d rows up to the id %d: it, or a hash of theirs, was changed", want.Rows,
			want.Last)
	}
	return nil
}
