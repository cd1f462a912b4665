package history

import (
	"database/sql"

	"redrain/payout/ledger/chain"
)

// DigestOf is what [Digests] would be of a thing whose rows are given: of each of its tables in their order, each value
// by its column.
func DigestOf(kind Kind, rows func(table string) []func(column string) sql.NullString) string {
	var c chain.Content
	for _, p := range parts[kind] {
		for _, row := range rows(p.table) {
			c.Text(p.table)
			for _, column := range p.columns {
				if value := row(column); value.Valid {
					c.Text(value.String)
				} else {
					c.Null()
				}
			}
		}
	}
	return c.Sum().String()
}
