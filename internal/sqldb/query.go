package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Scan copies the columns of a row to where the arguments point, as sql.Rows.Scan does.
type Scan func(dest ...any) error

// Querier is what can be read from: a [DB], each statement by itself, or a [Tx].
type Querier interface {
	// Each runs a query and calls row for every row of its answer. An error of row ends it.
	Each(ctx context.Context, row func(Scan) error, query string, args ...any) error
	// First copies the first row of the answer to dest; found is false where there is none.
	First(ctx context.Context, dest []any, query string, args ...any) (found bool, err error)
}

// Each implements [Querier], on the readers' side, within a few seconds.
func (db *DB) Each(ctx context.Context, row func(Scan) error, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return each(ctx, db.reader, row, query, args)
}

// First implements [Querier], on the readers' side, within a few seconds.
func (db *DB) First(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	return first(ctx, db, dest, query, args)
}

// Each implements [Querier].
func (tx *Tx) Each(ctx context.Context, row func(Scan) error, query string, args ...any) error {
	return each(ctx, tx.tx, row, query, args)
}

// First implements [Querier].
func (tx *Tx) First(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	return first(ctx, tx, dest, query, args)
}

// Exec runs a statement and returns how many rows it found to change.
func (tx *Tx) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	res, err := tx.tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// ForUpdate is what makes a SELECT lock the rows it reads until the end of the transaction. SQLite needs no
// such words: a transaction that writes has the whole database to itself.
func (tx *Tx) ForUpdate() string {
	if tx.dialect == SQLite {
		return ""
	}
	return " FOR UPDATE"
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func each(ctx context.Context, q queryer, row func(Scan) error, query string, args []any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

var errEnough = errors.New("the first row is enough")

func first(ctx context.Context, q Querier, dest []any, query string, args []any) (found bool, err error) {
	err = q.Each(ctx, func(scan Scan) error {
		found = true
		if err := scan(dest...); err != nil {
			return err
		}
		return errEnough
	}, query, args...)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found && err == nil, err
}

// Marks is n placeholders with their parentheses, for IN: "(?,?,?)".
func Marks(n int) string {
	if n == 0 {
		return "(NULL)" // IN (NULL) finds nothing, and IN () is no SQL
	}
	return "(" + strings.Repeat("?,", n-1) + "?)"
}

// Args makes arguments for [Marks] of a slice.
func Args[T any](values []T) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return args
}

// Chunk is how many values an IN should have at most, and how many rows one INSERT has on MySQL. It keeps statements below
// the limits of both databases (SQLite: 32,766 parameters; MySQL: max_allowed_packet).
const Chunk = 1000

// sqliteParameters is how many parameters one INSERT has on SQLite. The driver's time for binding them grows with the square
// of their number, so that 500 rows of a dozen columns are inserted three times as fast in small statements as in one.
const sqliteParameters = 400

// Merge says what happens to a row of [Tx.Insert] whose key is there already. The zero value fails.
type Merge struct {
	Key []string // the columns of the unique key; required unless the Merge is the zero value
	Add []string // columns that the new value is added to
	Set []string // columns that the new value replaces; with neither Add nor Set the old row stays as it is
}

// Insert inserts rows, each with a value for every column.
func (tx *Tx) Insert(ctx context.Context, table string, columns []string, rows [][]any, merge Merge) error {
	tail := merge.tail(tx.dialect, table)
	most := Chunk
	if tx.dialect == SQLite {
		most = max(sqliteParameters/len(columns), 1)
	}
	for len(rows) > 0 {
		n := min(len(rows), most)
		one := Marks(len(columns))
		head := fmt.Sprintf("INSERT INTO %s (%s) VALUES ", table, strings.Join(columns, ", "))
		var b strings.Builder
		b.Grow(len(head) + n*(len(one)+1) + len(tail))
		b.WriteString(head)
		args := make([]any, 0, n*len(columns))
		for i, row := range rows[:n] {
			if len(row) != len(columns) {
				return fmt.Errorf("sqldb: a row of %d values for %d columns of %s", len(row), len(columns), table)
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(one)
			args = append(args, row...)
		}
		b.WriteString(tail)
		if _, err := tx.tx.ExecContext(ctx, b.String(), args...); err != nil {
			return fmt.Errorf("insert into %s: %w", table, err)
		}
		rows = rows[n:]
	}
	return nil
}

// tail is the end of an INSERT: the one place where the dialects' words for a merge are.
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
