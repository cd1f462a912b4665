package chain

import (
	"database/sql"
	"slices"
)

// What follows hashes rows without their database, as an export has them.

// PaperColumns are the columns of the papers of a kind of transaction that its hash covers, in the order in which they
// are hashed. Where the papers come from several tables, each column has a table's short name before it: c campaign,
// a campaign_amounts, r reclaim, cut reclaim_cut.
func PaperColumns(kind string) []string { return slices.Clone(papers[kind].columns) }

// AuditColumns are the columns of an audit record that its hash covers, in the order in which they are hashed.
func AuditColumns() []string { return slices.Clone(auditColumns) }

// Line is a line of a transaction.
type Line struct {
	Number  int64
	Account string
	Amount  int64
}

// HashTxn hashes a transaction, its papers, each with the values of its PaperColumns, and its lines.
func HashTxn(kind, key string, at int64, papers [][]sql.NullString, lines []Line) Hash {
	var c Content
	var sum Hash
	if len(papers) > 0 {
		for _, p := range papers {
			c.values(p)
		}
		sum = c.Sum()
	}
	c.Txn(kind, key, at, sum)
	for _, l := range lines {
		c.Int(l.Number)
		c.Text(l.Account)
		c.Int(l.Amount)
	}
	return c.Sum()
}

// HashAudit hashes an audit record with the values of its AuditColumns.
func HashAudit(values []sql.NullString) Hash {
	var c Content
	c.values(values)
	return c.Sum()
}

func (c *Content) values(of []sql.NullString) {
	for _, value := range of {
		c.text(value)
	}
}
