package sqldb

import (
	"context"
	"database/sql"
	"errors"
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
	scan := Scan(rows.Scan)
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

// Chunk is how many values an IN should have at most, and how many rows one INSERT has on MySQL. It keeps
// statements below the limits of both databases (SQLite: 32,766 parameters; MySQL: max_allowed_packet).
const Chunk = 1000
