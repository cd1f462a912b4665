package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// Merge defines the treatment of a row whose key exists by [Tx.Insert]. With the zero value, the insert fails.
type Merge struct {
	Key []string // the columns of the unique key; required unless the Merge is the zero value
	Add []string // columns that the new value is added to
	Set []string // columns that the new value replaces
	// Larger are columns that together are one number, the first the most significant. The larger of the old and the
	// new one stays. With none of Add, Set and Larger the old row stays unchanged.
	Larger []string
}

// tail returns the end of an INSERT: the dialect's clause for the merge.
func (m Merge) tail(d Dialect, table string) string {
	if len(m.Key) == 0 {
		return ""
	}
	var sets []string
	if d == SQLite {
		for _, c := range m.Add {
			sets = append(sets, fmt.Sprintf("%[1]s = %[2]s.%[1]s + excluded.%[1]s", c, table))
		}
		for _, c := range m.Set {
			sets = append(sets, fmt.Sprintf("%[1]s = excluded.%[1]s", c))
		}
		for _, c := range m.Larger {
			sets = append(sets, fmt.Sprintf("%[1]s = CASE WHEN (%[2]s) > (%[3]s) THEN excluded.%[1]s ELSE "+
				"%[4]s.%[1]s END", c,
				list("excluded.", m.Larger), list(table+".", m.Larger), table))
		}
		conflict := " ON CONFLICT (" + strings.Join(m.Key, ", ") + ") DO "
		if len(sets) == 0 {
			return conflict + "NOTHING"
		}
		return conflict + "UPDATE SET " + strings.Join(sets, ", ")
	}
	// MariaDB does not support MySQL 8's "AS new"; both support VALUES(column).
	for _, c := range m.Add {
		sets = append(sets, fmt.Sprintf("%[1]s = %[1]s + VALUES(%[1]s)", c))
	}
	for _, c := range m.Set {
		sets = append(sets, fmt.Sprintf("%[1]s = VALUES(%[1]s)", c))
	}
	// MySQL sets one column after the other and sees those it has set: the most significant one comes last.
	for _, c := range slices.Backward(m.Larger) {
		sets = append(sets, fmt.Sprintf("%[1]s = IF((%[2]s) > (%[3]s), VALUES(%[1]s), %[1]s)", c, values(m.Larger),
			strings.Join(m.Larger, ", ")))
	}
	if len(sets) == 0 {
		sets = []string{m.Key[0] + " = " + m.Key[0]} // INSERT IGNORE would hide other faults too
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
}

func list(prefix string, columns []string) string { return prefix + strings.Join(columns, ", "+prefix) }

func values(columns []string) string { return "VALUES(" + strings.Join(columns, "), VALUES(") + ")" }
