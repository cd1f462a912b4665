package chain

import (
	"database/sql"
	"slices"
)

// What follows hashes rows without their database, as an export has them.

// PaperColumns are the columns of the papers of a kind of transaction that its hash covers, in the order in which they
// are hashed. Where the papers come from several tables, each column has a table's short name before it: c campaign,
// a campaign_amounts, r reclaim, cut reclaim_cut, w withdrawal, e withdrawal_event.
func PaperColumns(kind string) []string { return slices.Clone(papers[kind].columns) }

// AuditColumns are the columns of an audit record that its hash covers, in the order in which they are hashed.
func AuditColumns() []string { return slices.Clone(auditColumns) }

// Line is a line of a transaction.
type Line struct {
	Number  int64
	Account string
	Amount  int64
}

// HashPapers hashes the papers of a transaction, each with the values of its PaperColumns. It is zero without papers.
func HashPapers(papers [][]sql.NullString) (sum Hash) {
	if len(papers) == 0 {
		return sum
	}
	var c Content
	for _, p := range papers {
		c.values(p)
	}
	return c.Sum()
}

// HashTxn hashes a transaction, the hash of its papers, and its lines.
func HashTxn(kind, key string, at int64, papers Hash, lines []Line) Hash {
	var c Content
	c.Txn(kind, key, at, papers[:])
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
