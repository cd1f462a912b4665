package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scan copies the columns of a row to the arguments, as sql.Rows.Scan does.
type Scan func(dest ...any) error

// Querier runs queries: a [DB], each statement by itself, or a [Tx].
type Querier interface {
	// Each runs a query and calls row for every row of its answer. An error of row ends it.
	Each(ctx context.Context, row func(Scan) error, query string, args ...any) error
	// First copies the first row of the answer to dest; found is false if there is none.
	First(ctx context.Context, dest []any, query string, args ...any) (found bool, err error)
}

// Each implements [Querier] on the connections for reading, within queryTimeout.
func (db *DB) Each(ctx context.Context, row func(Scan) error, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	db.hear(query, args)
	return each(ctx, db.reader, row, query, args)
}

// First implements [Querier] on the connections for reading, within queryTimeout.
func (db *DB) First(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	return first(ctx, db, dest, query, args)
}

// Each implements [Querier].
func (tx *Tx) Each(ctx context.Context, row func(Scan) error, query string, args ...any) error {
	tx.db.hear(query, args)
	return each(ctx, tx.tx, row, query, args)
}

// First implements [Querier].
func (tx *Tx) First(ctx context.Context, dest []any, query string, args ...any) (bool, error) {
	return first(ctx, tx, dest, query, args)
}

// Exec runs one statement in its own transaction and returns the number of rows that it matched.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *Tx) error {
		rows, err = tx.Exec(ctx, statement, args...)
		return err
	})
	return rows, err
}

// Exec runs a statement and returns the number of rows that it matched.
func (tx *Tx) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	tx.db.hear(statement, args)
	res, err := tx.tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// ForUpdate is the clause with which a SELECT locks its rows until the end of the transaction. On SQLite it is empty: a
// transaction that writes locks the whole database.
func (tx *Tx) ForUpdate() string { return tx.onMySQL(" FOR UPDATE") }

// ForShare is the clause with which a SELECT keeps others from changing its rows until the end of the transaction.
// They may read with ForShare. MySQL 8 and MariaDB have the older of its two names in common.
func (tx *Tx) ForShare() string { return tx.onMySQL(" LOCK IN SHARE MODE") }

// SkipLocked is ForUpdate for interchangeable rows: locked ones are left out, so the statement does not wait.
func (tx *Tx) SkipLocked() string { return tx.onMySQL(" FOR UPDATE SKIP LOCKED") }

func (tx *Tx) onMySQL(clause string) string {
	if tx.dialect == SQLite {
		return ""
	}
	return clause
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
	scan := Scan(func(dest ...any) error {
		if err := rows.Scan(dest...); err != nil {
			return &scanError{err}
		}
		return nil
	})
	for rows.Next() {
		if err := row(scan); err != nil {
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

// List returns the rows of a query, each read by scan; it is empty and not nil if there are none.
func List[T any](ctx context.Context, q Querier, scan func(Scan) (T, error), query string, args ...any) ([]T, error) {
	list := []T{}
	err := q.Each(ctx, func(row Scan) error {
		value, err := scan(row)
		list = append(list, value)
		return err
	}, query, args...)
	return list, err
}

// Column returns the values of a query for one column.
func Column[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return List(ctx, q, func(row Scan) (value T, err error) {
		err = row(&value)
		return value, err
	}, query, args...)
}

// EachIn runs a query that ends with IN as often as many values need, and calls row for every row of the answers. The
// args are for the placeholders before the IN.
func EachIn[T any](ctx context.Context, q Querier, row func(Scan) error, query string, values []T, args ...any) error {
	for chunk := range slices.Chunk(values, Chunk) {
		err := q.Each(ctx, row, query+" "+Marks(len(chunk)), slices.Concat(args, Args(chunk))...)
		if err != nil {
			return err
		}
	}
	return nil
}

// ExecIn runs a statement that ends with IN as often as many values need, and returns the number of rows that it
// matched. The args are for the placeholders before the IN.
func ExecIn[T any](ctx context.Context, tx *Tx, statement string, values []T, args ...any) (rows int64, err error) {
	for chunk := range slices.Chunk(values, Chunk) {
		n, err := tx.Exec(ctx, statement+" "+Marks(len(chunk)), slices.Concat(args, Args(chunk))...)
		if rows += n; err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// Marks returns n placeholders in parentheses, for IN: "(?,?,?)".
func Marks(n int) string {
	if n == 0 {
		return "(NULL)" // IN (NULL) matches nothing; IN () is a syntax error
	}
	return "(" + strings.Repeat("?,", n-1) + "?)"
}

// Args returns arguments for [Marks] of a slice.
func Args[T any](values []T) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return args
}

// Chunk is the largest number of values of an IN, and of rows of one INSERT on MySQL. It keeps
// statements below the limits of both databases (SQLite: 32,766 parameters; MySQL: max_allowed_packet).
const Chunk = 1000

// Storable converts any text of another system, such as a payment's, to readable text for a column of n bytes or
// characters in every database. Bytes of invalid UTF-8, such as lone surrogates, and a NUL are written as \xff and
// \x00. A text that is too long is cut between two characters. Any other text is unchanged.
func Storable(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		piece := s[:size]
		if r == 0 || r == utf8.RuneError && size == 1 {
			piece = fmt.Sprintf(`\x%02x`, s[0])
		}
		if b.Len()+len(piece) > n {
			break
		}
		b.WriteString(piece)
		s = s[size:]
	}
	return b.String()
}
