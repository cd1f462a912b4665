package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// sqliteParameters is the number of parameters of one INSERT on SQLite. The driver's time to bind them grows with the
// square of their number, so many rows take many small statements, prepared once.
const sqliteParameters = 150

// Into names the destination of inserted rows.
type Into struct {
	Table   string
	Columns []string // a row has a value for each, in this order
	Merge   Merge    // for a row whose key exists
}

// Insert inserts rows, each with a value for every column.
func (tx *Tx) Insert(ctx context.Context, table string, columns []string, rows [][]any, merge Merge) error {
	var fault error
	err := tx.InsertEach(ctx, Into{Table: table, Columns: columns, Merge: merge}, len(rows), func(i int, r *Row) {
		for _, value := range rows[i] {
			if err := r.any(value); err != nil {
				fault = err
			}
		}
	})
	if fault != nil { // the caller rolls the statement back with this error
		return fault
	}
	return err
}

// InsertEach inserts n rows; put puts the values of row i.
func (tx *Tx) InsertEach(ctx context.Context, into Into, n int, put func(i int, r *Row)) error {
	return tx.insert(ctx, into, n, -1, put, "", func(on runner, statement string, r *Row) error {
		_, err := on.ExecContext(ctx, statement, r.args...)
		return err
	})
}

// Back names the columns of the inserted rows that are read back.
type Back struct {
	Key     string   // one of the inserted columns, unique in the table, or among the rows of Where
	Where   string   // a condition that all inserted rows meet; "" = none
	Args    []any    // of Where
	Columns []string // may be columns that were not inserted
	Row     func(Scan) error
}

// InsertReading is InsertEach, and reads the rows back, in any order, as they are after the insert or merge. If the
// database has RETURNING (MariaDB, SQLite), one statement does both.
func (tx *Tx) InsertReading(ctx context.Context, into Into, n int, put func(i int, r *Row), back Back) error {
	key := slices.Index(into.Columns, back.Key)
	if key < 0 {
		return fmt.Errorf("sqldb: %s is read back by %q, which is not inserted", into.Table, back.Key)
	}
	columns := strings.Join(back.Columns, ", ")
	if tx.returning {
		return tx.insert(ctx, into, n, key, put, " RETURNING "+columns,
			func(on runner, statement string, r *Row) error {
				return each(ctx, on, back.Row, statement, r.args)
			})
	}
	return tx.insert(ctx, into, n, key, put, "", func(on runner, statement string, r *Row) error {
		if _, err := on.ExecContext(ctx, statement, r.args...); err != nil {
			return err
		}
		var b strings.Builder
		b.WriteString("SELECT " + columns + " FROM " + into.Table + " WHERE " + back.Key + " IN (")
		for i, at := range r.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(statement[at[0]:at[1]])
		}
		b.WriteByte(')')
		if back.Where != "" {
			b.WriteString(" AND " + back.Where)
		}
		return each(ctx, tx.tx, back.Row, b.String(), back.Args)
	})
}

// runner runs a statement: a transaction, or its prepared statement.
type runner interface {
	queryer
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

// prepared runs the statement that it was made of, and ignores the given one.
type prepared struct{ *sql.Stmt }

func (p prepared) ExecContext(ctx context.Context, _ string, args ...any) (sql.Result, error) {
	return p.Stmt.ExecContext(ctx, args...)
}

func (p prepared) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return p.Stmt.QueryContext(ctx, args...)
}

// insert builds as many statements as the rows need, each with this end, and calls run for each.
func (tx *Tx) insert(ctx context.Context, into Into, n, key int, put func(int, *Row), end string,
	run func(on runner, statement string, r *Row) error) error {
	if n == 0 {
		return ctx.Err()
	}
	most := Chunk
	if tx.dialect == SQLite {
		most = max(sqliteParameters/len(into.Columns), 1)
	}
	head := "INSERT INTO " + into.Table + " (" + strings.Join(into.Columns, ", ") + ") VALUES "
	tail := into.Merge.tail(tx.dialect, into.Table) + end
	r := takeRow(tx.dialect, key)
	defer r.giveBack()
	var again *sql.Stmt // the statement of so many rows; it ends with the transaction
	for first := 0; first < n; first += most {
		r.reset()
		r.text = append(r.text, head...)
		for i := first; i < min(first+most, n); i++ {
			if i > first {
				r.text = append(r.text, ',')
			}
			if err := r.add(i, len(into.Columns), put); err != nil {
				return fmt.Errorf("insert into %s: %w", into.Table, err)
			}
		}
		r.text = append(r.text, tail...)
		statement, on := string(r.text), runner(tx.tx)
		if tx.dialect == SQLite && n >= 2*most && first+most <= n {
			if again == nil {
				var err error
				if again, err = tx.tx.PrepareContext(ctx, statement); err != nil {
					return fmt.Errorf("insert into %s: %w", into.Table, err)
				}
			}
			on = prepared{again}
		}
		if err := run(on, statement, r); err != nil {
			return fmt.Errorf("insert into %s: %w", into.Table, err)
		}
	}
	return nil
}

func (r *Row) add(i, columns int, put func(int, *Row)) error {
	r.values = 0
	r.text = append(r.text, '(')
	put(i, r)
	r.text = append(r.text, ')')
	if r.values != columns {
		return fmt.Errorf("write a row: %d values for %d columns", r.values, columns)
	}
	return nil
}

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
	// MariaDB does not support MySQL 8's "AS new"; both support VALUES(column).
	clause, start, end := " ON DUPLICATE KEY UPDATE ", "VALUES(", ")"
	if d == SQLite {
		clause, start, end = " ON CONFLICT ("+strings.Join(m.Key, ", ")+") DO UPDATE SET ", "excluded.", ""
	}
	list := func(start string, columns []string, end string) string {
		return start + strings.Join(columns, end+", "+start) + end
	}
	var sets []string
	for _, c := range m.Add {
		sets = append(sets, c+" = "+table+"."+c+" + "+start+c+end)
	}
	for _, c := range m.Set {
		sets = append(sets, c+" = "+start+c+end)
	}
	// MySQL sets one column after the other and sees those it has set: the most significant one comes last.
	for _, c := range slices.Backward(m.Larger) {
		sets = append(sets, fmt.Sprintf("%s = CASE WHEN (%s) > (%s) THEN %s ELSE %s END", c,
			list(start, m.Larger, end), list(table+".", m.Larger, ""), start+c+end, table+"."+c))
	}
	if len(sets) == 0 {
		sets = []string{m.Key[0] + " = " + table + "." + m.Key[0]} // INSERT IGNORE would hide other faults too
	}
	return clause + strings.Join(sets, ", ")
}
