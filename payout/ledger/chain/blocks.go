package chain

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
)

// The tables whose rows are hashed into blocks.
const (
	Txns   = "txn"
	Audits = "audit"
)

var books = []string{Audits, Txns}

const (
	// blockRows is the largest number of rows in a block.
	blockRows = 10_000
	// settled is a time after which no transaction can commit a row with a lower id than one that was seen. A
	// transaction of the ledger ends within seconds.
	settled = time.Minute
	// viewLimit bounds one view.
	viewLimit = time.Minute
)

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
func (b *Block) next(ctx context.Context, q sqldb.Querier, until int64, limit int) (Block, error) {
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

// Hasher hashes the rows of the books into blocks. Any number of processes may run one on one database: the first
// insert of a block wins.
type Hasher struct {
	db   *sqldb.DB
	seen map[string]int64 // the highest id of each book, at the time at
	at   time.Time

	hashed time.Time // all rows committed until then are in blocks; zero: not known
}

// NewHasher makes a hasher of a migrated database.
func NewHasher(db *sqldb.DB) *Hasher { return &Hasher{db: db} }

// Round hashes the rows up to the ids that an earlier round saw at least a minute ago: transactions with lower ids
// have ended. All rows that were committed until hashed are in blocks. It is zero before the first round that hashes.
func (h *Hasher) Round(ctx context.Context, now time.Time) (hashed time.Time, err error) {
	if h.seen != nil && now.Sub(h.at) < settled {
		return h.hashed, nil
	}
	for book, until := range h.seen {
		if err := h.hash(ctx, book, until); err != nil {
			return h.hashed, err
		}
	}
	h.hashed = h.at
	list, err := heads(ctx, h.db)
	if err != nil {
		return h.hashed, err
	}
	h.seen, h.at = map[string]int64{}, now
	for _, head := range list {
		h.seen[head.Book] = head.ID
	}
	return h.hashed, nil
}

// hash makes blocks of the rows up to an id.
func (h *Hasher) hash(ctx context.Context, book string, until int64) error {
	for full := true; full; {
		err := h.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			last, err := newest(ctx, tx, book)
			if err != nil {
				return err
			}
			if last.Last > until { // another node has seen more rows, or the block was tampered with
				head, err := readHead(ctx, tx, book)
				if err == nil && head.ID < last.Last {
					err = fmt.Errorf("block %d ends with row %d, and the newest row is %d: the block was changed, or "+
						"rows were removed; no row is hashed until then, see redrain audit verify", last.Number,
						last.Last, head.ID)
				}
				full = false
				return err
			}
			b, err := last.next(ctx, tx, until, blockRows)
			if full = b.Rows == blockRows; err != nil || b.Rows == 0 {
				return err
			}
			return blockTable.Insert(ctx, tx, sqldb.Merge{}, b)
		})
		if sqldb.IsDuplicate(err) {
			continue // another node has made this block
		}
		if err != nil {
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

// heads returns the newest rows of the books that have any.
func heads(ctx context.Context, q sqldb.Querier) (list []Head, err error) {
	for _, book := range books {
		head, err := readHead(ctx, q, book)
		if err != nil {
			return nil, err
		}
		if head.Hash != "" {
			list = append(list, head)
		}
	}
	return list, nil
}

// readHead reads the newest row of a book; its hash is "" if there is none.
func readHead(ctx context.Context, q sqldb.Querier, book string) (Head, error) {
	var hash []byte
	head := Head{Book: book}
	_, err := q.First(ctx, []any{&head.ID, &hash}, "SELECT id, hash FROM "+book+" ORDER BY id DESC LIMIT 1")
	head.Hash = fmt.Sprintf("%x", hash)
	return head, sqldb.Wrap(err, "read the newest row of %s", book)
}
