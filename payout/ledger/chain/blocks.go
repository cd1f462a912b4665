package chain

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
)

// The tables whose rows are hashed into blocks.
const (
	Txns   = "txn"
	Audits = "audit"
)

var books = []string{Audits, Txns}

// blockRows is the largest number of rows in a block.
const blockRows = 10_000

// Block covers the rows of a book with ids after those of the previous block, up to Last.
type Block struct {
	Book   string `json:"book"`
	Number int64  `json:"number"` // from 1
	Last   int64  `json:"last"`   // the highest id
	Rows   int64  `json:"rows"`
	Hash   string `json:"hash"` // SHA-256 of the block before and of the ids and hashes of the rows, in hexadecimal
}

var blockTable = sqldb.NewTable("block", func(b *Block) []any {
	return []any{"book", &b.Book, "number", &b.Number, "last_id", &b.Last, "rows_hashed", &b.Rows, "hash", &b.Hash}
})

// newest is the newest block of a book; its number is 0 if there is none.
func newest(ctx context.Context, q sqldb.Querier, book string) (Block, error) {
	b, _, err := blockTable.Find(ctx, q, "WHERE book = ? ORDER BY number DESC LIMIT 1", book)
	b.Book = book
	return b, err
}

// next hashes at most limit rows after a block, up to the id until.
func (b *Block) next(ctx context.Context, q sqldb.Querier, until, limit int64) (Block, error) {
	is := Block{Book: b.Book, Number: b.Number + 1}
	var c Content
	c.Add(b.Book, is.Number, b.Hash)
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var hash []byte
		err := scan(&is.Last, &hash)
		c.Int(is.Last)
		c.Bytes(hash)
		is.Rows++
		return err
	}, "SELECT id, hash FROM "+b.Book+" WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", b.Last, until, limit)
	is.Hash = c.Sum().String()
	return is, err
}

// checkEnd fails if a block ends behind the newest row. No later row would be hashed.
func (b *Block) checkEnd(ctx context.Context, q sqldb.Querier) error {
	var id int64
	if _, err := q.First(ctx, []any{&id}, "SELECT COALESCE(MAX(id), 0) FROM "+b.Book); err != nil || id >= b.Last {
		return err
	}
	return fmt.Errorf("block %d ends with row %d, and the newest row is %d: the block was changed, or rows were removed; "+
		"no row is hashed until then, see redrain audit verify", b.Number, b.Last, id)
}

// makeBlocks makes blocks of the rows of a book up to an id. Any number of processes may do so on one database: the
// first insert of a block wins.
func makeBlocks(ctx context.Context, db *sqldb.DB, book string, until int64) error {
	for full := true; full; {
		err := db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			last, err := newest(ctx, tx, book)
			if err != nil {
				return err
			}
			if last.Last > until { // another node has seen more rows, or the block was changed
				full = false
				return last.checkEnd(ctx, tx)
			}
			b, err := last.next(ctx, tx, until, blockRows)
			if full = b.Rows == blockRows; err != nil || b.Rows == 0 {
				return err
			}
			return blockTable.Insert(ctx, tx, sqldb.Merge{}, b)
		})
		if err != nil && !sqldb.IsDuplicate(err) {
			return fmt.Errorf("hash rows of %s into a block: %w", book, err)
		}
	}
	return nil
}

// Head is the newest row of a book.
type Head struct {
	Book string `json:"book"`
	ID   int64  `json:"id"`
	Hash string `json:"hash"` // in hexadecimal
}

// Heads are the newest rows of the books that have any.
func (r *Roots) Heads(ctx context.Context) (list []Head, err error) {
	for _, book := range books {
		var hash []byte
		head := Head{Book: book}
		found, err := r.db.First(ctx, []any{&head.ID, &hash}, "SELECT id, hash FROM "+book+" ORDER BY id DESC LIMIT 1")
		if err != nil {
			return nil, fmt.Errorf("read the newest row of %s: %w", book, err)
		}
		if found {
			head.Hash = fmt.Sprintf("%x", hash)
			list = append(list, head)
		}
	}
	return list, nil
}

// Holds reports whether a row that was once the newest still exists. A table without hashes has no such row.
func (r *Roots) Holds(ctx context.Context, h Head) (bool, error) {
	if !slices.Contains(books, h.Book) {
		return false, nil
	}
	var hash []byte
	found, err := r.db.First(ctx, []any{&hash}, "SELECT hash FROM "+h.Book+" WHERE id = ?", h.ID)
	return found && fmt.Sprintf("%x", hash) == h.Hash, sqldb.Wrap(err, "read row %d of %s", h.ID, h.Book)
}
