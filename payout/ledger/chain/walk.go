package chain

import (
	"context"
	"fmt"
	"math"

	"redrain/internal/sqldb"
)

// Fault is a row or a block that differs from its hash.
type Fault struct {
	Book string
	Row  int64  // 0: a block
	Name string // of the row, for people
	What string
}

// String names the row.
func (f Fault) String() string {
	if f.Row == 0 {
		return fmt.Sprintf("%s of the table %s %s", f.Name, f.Book, f.What)
	}
	what := map[string]string{Txns: "transaction", Audits: "audit record"}[f.Book]
	return fmt.Sprintf("%s %d (%s) %s", what, f.Row, f.Name, f.What)
}

const (
	txnsAtOnce  = 100 // one may have 4,000 lines
	auditAtOnce = 1000
	// stepRows is the approximate number of rows in one step. A transaction whose content is read counts as txnRows.
	stepRows = 10_000
	txnRows  = stepRows / txnsAtOnce
)

// Walk reads the rows of the books in the order of their ids, page by page. It compares them with their hashes and
// their blocks. The zero value begins with the first row.
type Walk struct {
	// SkipTxns leaves out the contents of transactions, which the caller has checked.
	SkipTxns bool
	Found    func(Fault)
	Rows     int64 // that were read
	Blocks   int64 // that were compared

	book    int   // index in books
	block   Block // the newest compared block
	row     int64 // the last compared row
	behind  bool  // all blocks of the book were compared
	started map[string]Block
	spent   int64 // rows and blocks of the present step
}

// Begin makes the walk trust the rows up to some blocks.
func (w *Walk) Begin(ends []Block) {
	w.started = map[string]Block{}
	for _, b := range ends {
		w.started[b.Book] = b
	}
}

// Step reads about 10,000 rows from one snapshot. It reports whether there is more.
func (w *Walk) Step(ctx context.Context, db *sqldb.DB) (more bool, err error) {
	w.spent = 0
	err = db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		for w.spent < stepRows && !w.behind {
			if err := w.step(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("verify the hashes of %s: %w", books[w.book], err)
	}
	if !w.behind {
		return true, nil
	}
	w.book++
	w.block, w.row, w.behind = Block{}, 0, false
	return w.book < len(books), nil
}

func (w *Walk) step(ctx context.Context, q sqldb.Querier) error {
	if w.block.Book == "" {
		w.block = w.started[books[w.book]]
		w.block.Book, w.row = books[w.book], w.block.Last
		if err := w.early(ctx, q); err != nil {
			return err
		}
	}
	until := int64(math.MaxInt64)
	next, found, err := blockTable.Find(ctx, q, "WHERE book = ? AND number > ? ORDER BY number LIMIT 1",
		w.block.Book, w.block.Number)
	if err != nil {
		return err
	}
	if found {
		until = next.Last
	}
	whole, err := w.contents(ctx, q, until)
	if err != nil || !whole {
		return err
	}
	if !found {
		w.behind = true
		return nil
	}
	return w.compare(ctx, q, next)
}

// early reports rows with numbers that no block can have.
func (w *Walk) early(ctx context.Context, q sqldb.Querier) error {
	ids, err := sqldb.Column[int64](ctx, q, "SELECT id FROM "+w.block.Book+" WHERE id < 1 ORDER BY id LIMIT 10")
	for _, id := range ids {
		w.Found(Fault{Book: w.block.Book, Name: fmt.Sprintf("row %d", id), What: "is in no block: rows begin with 1"})
	}
	return err
}

// contents compares a page of rows with their own hashes. whole reports whether it was the last page up to an id.
func (w *Walk) contents(ctx context.Context, q sqldb.Querier, until int64) (whole bool, err error) {
	switch {
	case w.block.Book == Audits:
		last, rows, err := checkAudit(ctx, q, w.row, until, auditAtOnce, w.Found)
		if rows > 0 {
			w.row = last
		}
		w.Rows += rows
		w.spent += rows
		return rows < auditAtOnce, err
	case w.SkipTxns:
		return true, nil
	}
	ids, err := sqldb.Column[int64](ctx, q, "SELECT id FROM txn WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", w.row,
		until, txnsAtOnce)
	if err != nil || len(ids) == 0 {
		return true, err
	}
	w.row = ids[len(ids)-1]
	w.Rows += int64(len(ids))
	w.spent += int64(len(ids)) * txnRows
	return len(ids) < txnsAtOnce, CheckTxns(ctx, q, ids, w.Found)
}

// compare hashes the rows of a block again. Rows of removed blocks are in no block, and are not hashed.
func (w *Walk) compare(ctx context.Context, q sqldb.Querier, want Block) error {
	w.spent++
	name := fmt.Sprintf("block %d", want.Number)
	if want.Number != w.block.Number+1 {
		w.Found(Fault{Book: want.Book, Name: name, What: fmt.Sprintf("does not follow block %d: blocks were removed",
			w.block.Number)})
		w.block = want
		return nil
	}
	first := w.block.Last + 1
	is, err := w.block.next(ctx, q, want.Last, int(min(max(want.Rows, 0), blockRows))+1)
	if err != nil {
		return err
	}
	w.Blocks++
	w.spent += is.Rows
	if w.SkipTxns && want.Book == Txns {
		w.Rows += is.Rows
	}
	switch {
	case is.Rows != want.Rows || is.Last != want.Last:
		w.Found(Fault{Book: want.Book, Name: name, What: fmt.Sprintf("has %d of %d rows with the ids %d to %d: rows "+
			"were removed, added or numbered otherwise", is.Rows, want.Rows, first, want.Last)})
	case is.Hash != want.Hash:
		w.Found(Fault{Book: want.Book, Name: name, What: fmt.Sprintf("is not the hash of its %d rows with the ids "+
			"%d to %d: it, or a hash of theirs, was changed", want.Rows, first, want.Last)})
	}
	w.block = want
	return nil
}
