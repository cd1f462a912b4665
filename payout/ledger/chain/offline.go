package chain

import (
	"database/sql"
	"slices"
)

// What follows proves rows without their database, as an export has them.

// PaperColumns are the columns of the papers of a kind of transaction that the chain holds, in the order in which they
// are hashed. Where the papers come from several tables, each column has a table's short name before it: c campaign,
// a campaign_amounts, r reclaim, cut reclaim_cut.
func PaperColumns(kind string) []string { return slices.Clone(papers[kind].columns) }

// RecordColumns are the columns of Audits, Events or Histories that the chain holds, in the order in which they are
// hashed.
func RecordColumns(book string) []string {
	for _, of := range []records{auditRecords, events, histories} {
		if of.table == book {
			return slices.Clone(of.columns)
		}
	}
	return nil
}

// Line is a line of a transaction.
type Line struct {
	Number  int64
	Account string
	Amount  int64
}

// TxnContent is the content of a transaction, of its papers, each with the values of its PaperColumns, and of its
// lines; and its rest, as SumTxn has it.
func TxnContent(kind, key string, at int64, papers [][]sql.NullString,
	lines []Line) (content, rest Hash) {
	var c Content
	var sum Hash
	if len(papers) > 0 {
		for _, p := range papers {
			c.values(p)
		}
		sum = c.Sum()
	}
	c.Txn(at, sum)
	for _, l := range lines {
		c.Int(l.Number)
		c.Text(l.Account)
		c.Int(l.Amount)
	}
	return c.SumTxn(kind, key)
}

// RecordContent is the content of a record with the values of its RecordColumns.
func RecordContent(values []sql.NullString) Hash {
	var c Content
	c.values(values)
	return c.Sum()
}

func (c *Content) values(of []sql.NullString) {
	for _, value := range of {
		c.text(value)
	}
}

// LinkHash is the hash of a link: of its content, and of the link before.
func LinkHash(before, content Hash) Hash { return after(before, content) }

// FirstHash is what the first link of a stripe follows.
func FirstHash(book string, stripe int64) Hash { return first(book, stripe) }
