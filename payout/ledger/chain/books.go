package chain

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
)

// book is a table that is chained.
type book struct {
	table string
	named string // the column by which a person knows a row
	// read reads the rows of a stripe after a link, at most limit, in the order of their links.
	read func(ctx context.Context, q sqldb.Querier, stripe, after int64, limit int) ([]row, error)
}

// row is a link as it is in the database.
type row struct {
	id, link int64
	name     string
	hash     []byte
	content  Hash // of what the row says today
	kind     string
	rest     Hash // of a transaction, but for its kind and its key
	stub     bool // the row has left the books
}

// who is how findings speak of the row. The name of a stub is its archive.
func (r *row) who() string {
	if r.stub {
		return fmt.Sprintf("link %d, whose row has left the books with archive %s", r.link, r.name)
	}
	return fmt.Sprintf("row %d (%s)", r.id, r.name)
}

var books = []book{{Txns, "idem_key", readTxns}, auditRecords.book("action"), events.book("withdrawal_id"),
	histories.book("thing")}

// txnRow is a transaction before its lines and papers are read.
type txnRow struct {
	row
	at int64
}

func readTxns(ctx context.Context, q sqldb.Querier, stripe, after int64, limit int) ([]row, error) {
	txns, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (t txnRow, err error) {
		err = scan(&t.id, &t.link, &t.hash, &t.kind, &t.name, &t.at)
		return t, err
	}, "SELECT id, link, hash, kind, idem_key, created_at FROM txn WHERE stripe = ? AND link > ? ORDER BY link LIMIT ?",
		stripe, after, limit)
	if err != nil || len(txns) == 0 {
		return nil, err
	}
	return txnContents(ctx, q, txns)
}

// txnContents reads the lines and the papers of transactions, and what the chain says of all that.
func txnContents(ctx context.Context, q sqldb.Querier, txns []txnRow) ([]row, error) {
	contents := make(map[int64]*Content, len(txns))
	kinds := map[string][]int64{}
	for _, t := range txns {
		kinds[t.kind] = append(kinds[t.kind], t.id)
	}
	sums := map[int64]Hash{}
	for kind, ids := range kinds {
		of, err := readPapers(ctx, q, kind, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(sums, of)
	}
	ids := make([]int64, len(txns))
	for i, t := range txns {
		c := &Content{}
		c.Txn(t.at, sums[t.id])
		contents[t.id], ids[i] = c, t.id
	}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var id, line, amount int64
		var account string
		err := scan(&id, &line, &account, &amount)
		c := contents[id]
		c.Int(line)
		c.Text(account)
		c.Int(amount)
		return err
	}, "SELECT txn_id, line_no, account_id, amount FROM entry WHERE txn_id IN "+sqldb.Marks(len(ids))+
		" ORDER BY txn_id, line_no", sqldb.Args(ids)...)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(txns))
	for i, t := range txns {
		rows[i] = t.row
		rows[i].content, rows[i].rest = contents[t.id].SumTxn(t.kind, t.name)
	}
	return rows, nil
}

// records is a table whose rows stand for themselves: they have no lines and no papers.
type records struct {
	table   string
	columns []string // that the chain holds, in the order in which they are hashed
}

var (
	auditRecords = records{Audits, []string{"at", "actor", "role", "action", "target", "detail"}}
	events       = records{Events, []string{"withdrawal_id", "at", "state", "actor", "reason"}}
	histories    = records{Histories, []string{"at", "kind", "thing", "version", "digest"}}
)

// Append writes rows into Audits, Events or Histories, and ties them to its chain. Their values are whole numbers and
// texts, in the order of the book's columns.
func Append(ctx context.Context, tx *sqldb.Tx, book string, rows ...[]any) error {
	if len(rows) == 0 {
		return nil
	}
	of := map[string]records{Audits: auditRecords, Events: events, Histories: histories}[book]
	head, err := Take(ctx, tx, of.table)
	if err != nil {
		return err
	}
	linked := make([][]any, len(rows))
	for i, values := range rows {
		var c Content
		for _, value := range values {
			c.Text(fmt.Sprint(value))
		}
		link := head.Add(c.Sum())
		linked[i] = append(slices.Clone(values), link.stripe, link.number, link.hash[:])
	}
	if err := tx.Insert(ctx, of.table, slices.Concat(of.columns, Columns), linked, sqldb.Merge{}); err != nil {
		return err
	}
	return head.Save(ctx, tx)
}

// book is the table as one that is walked. named is the column by which a person knows a row.
func (of records) book(named string) book {
	query := "SELECT id, link, hash, " + strings.Join(of.columns, ", ") + " FROM " + of.table +
		" WHERE stripe = ? AND link > ? ORDER BY link LIMIT ?"
	name := slices.Index(of.columns, named)
	return book{of.table, named, func(ctx context.Context, q sqldb.Querier, stripe, after int64,
		limit int) ([]row, error) {
		var c Content
		values := make([]sql.NullString, len(of.columns))
		return sqldb.List(ctx, q, func(scan sqldb.Scan) (r row, err error) {
			dest := []any{&r.id, &r.link, &r.hash}
			for i := range values {
				dest = append(dest, &values[i])
			}
			err = scan(dest...)
			r.name = values[name].String
			c.Reset()
			for _, value := range values {
				c.text(value)
			}
			r.content = c.Sum()
			return r, err
		}, query, stripe, after, limit)
	}}
}
