package sqldb

import (
	"fmt"
	"strings"
)

// Merge says what [Tx.Insert] does with a row whose key exists. With the zero value, the insert fails.
type Merge struct {
	Key []string // the columns of the unique key; required unless the Merge is the zero value
	Add []string // columns that the new value is added to
	Set []string // columns that the new value replaces; with neither Add nor Set the old row stays as it is
}

// tail is the end of an INSERT: the dialect's clause for the merge.
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
		conflict := " ON CONFLICT (" + strings.Join(m.Key, ", ") + ") DO "
		if len(sets) == 0 {
			return conflict + "NOTHING"
		}
		return conflict + "UPDATE SET " + strings.Join(sets, ", ")
	}
	// MariaDB does not know MySQL 8's "AS new"; both know VALUES(column).
	for _, c := range m.Add {
		sets = append(sets, fmt.Sprintf("%[1]s = %[1]s + VALUES(%[1]s)", c))
	}
	for _, c := range m.Set {
		sets = append(sets, fmt.Sprintf("%[1]s = VALUES(%[1]s)", c))
	}
	if len(sets) == 0 {
		sets = []string{m.Key[0] + " = " + m.Key[0]} // INSERT IGNORE would hide other faults too
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
}
