package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Table maps a type to the columns of a cold table, so that each column is listed once for SELECT, scan and INSERT.
// Tables with many writes use [Into], which makes no garbage. A Table is safe for concurrent use.
type Table[T any] struct {
	name    string
	columns []string
	fields  func(row *T) []any
}

// NewTable returns a table's mapping. fields returns each column's name, then a pointer to its value or a [Via].
func NewTable[T any](name string, fields func(row *T) []any) *Table[T] {
	t := &Table[T]{name: name, fields: fields}
	all := fields(new(T))
	for i := 0; i < len(all); i += 2 {
		column, _ := all[i].(string)
		t.columns = append(t.columns, column)
	}
	return t
}

// Fields returns the columns of a struct's fields for [NewTable]: each name, followed by a pointer to the field. The
// name is the tag column, or else the tag json. A field with the column "-" is left out.
func Fields(of any) (all []any) {
	v := reflect.ValueOf(of).Elem()
	for f := range v.Type().Fields() {
		if name := cmp.Or(f.Tag.Get("column"), f.Tag.Get("json")); name != "-" {
			all = append(all, name, v.FieldByIndex(f.Index).Addr().Interface())
		}
	}
	return all
}

// Columns returns the names of the columns, in their order.
func (t *Table[T]) Columns() []string { return slices.Clone(t.columns) }

// Select returns the query of all columns that ends with end, such as a WHERE.
func (t *Table[T]) Select(end string) string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " " + end
}

// Scan reads a row of a [Table.Select].
func (t *Table[T]) Scan(scan Scan) (row T, err error) {
	err = scan(t.values(&row)...)
	return row, err
}

// values returns a pointer to, or a Via of, each column's value.
func (t *Table[T]) values(row *T) []any {
	fields := t.fields(row)
	for i := range t.columns {
		fields[i] = fields[2*i+1]
	}
	return fields[:len(t.columns)]
}

// Values returns the values of a row by their columns. A value may be a pointer to it.
func (t *Table[T]) Values(row *T) map[string]any {
	values := map[string]any{}
	for i, value := range t.values(row) {
		if via, ok := value.(driver.Valuer); ok {
			value, _ = via.Value() // a Via whose value cannot be stored is not inserted either
		}
		values[t.columns[i]] = value
	}
	return values
}

// List returns the rows of a query that ends with end; the result is empty and not nil if there are none.
func (t *Table[T]) List(ctx context.Context, q Querier, end string, args ...any) ([]T, error) {
	return List(ctx, q, t.Scan, t.Select(end), args...)
}

// Find returns the first row of a query that ends with end.
func (t *Table[T]) Find(ctx context.Context, q Querier, end string, args ...any) (row T, found bool, err error) {
	found, err = q.First(ctx, t.values(&row), t.Select(end), args...)
	return row, found, err
}

// Get is Find, and returns the error unknown if there is no row.
func (t *Table[T]) Get(ctx context.Context, q Querier, unknown error, end string, args ...any) (row T, err error) {
	row, found, err := t.Find(ctx, q, end, args...)
	if err == nil && !found {
		err = unknown
	}
	return row, err
}

// A Where is the condition of a query: all of its parts hold. The zero value holds for every row.
type Where struct {
	parts []string
	args  []any
}

// And adds a part.
func (w *Where) And(part string, args ...any) {
	w.parts, w.args = append(w.parts, part), append(w.args, args...)
}

// ErrBadCursor is the error of a cursor that no list has returned.
var ErrBadCursor = errors.New("the cursor is not one that a list has given")

// ListPage returns up to limit rows, in an order such as "at DESC, id DESC". It has one or two columns of integers or
// texts, which are unique together. after is the cursor, "" at first. next is "" on the last page.
func (t *Table[T]) ListPage(ctx context.Context, q Querier, w Where, order, after string,
	limit int) (list []T, next string, err error) {
	columns, beyond := strings.Split(strings.ReplaceAll(order, " DESC", ""), ", "), " >"
	if strings.HasSuffix(order, " DESC") {
		beyond = " <"
	}
	if after != "" {
		key, err := t.cutCursor(columns, after)
		if err != nil {
			return nil, "", err
		}
		if first := columns[0] + beyond; len(columns) == 1 {
			w.And(first+" ?", key...)
		} else {
			w.And(first+"= ? AND ("+first+" ? OR "+columns[1]+beyond+" ?)", key[0], key[0], key[1])
		}
	}
	end := " ORDER BY " + order + " LIMIT ?"
	if len(w.parts) > 0 {
		end = "WHERE " + strings.Join(w.parts, " AND ") + end
	}
	list, err = t.List(ctx, q, end, append(slices.Clone(w.args), limit+1)...)
	if err == nil && len(list) > limit {
		list, next = list[:limit], t.cursor(columns, &list[limit-1])
	}
	return list, next, err
}

// cursor returns the values of a row's columns, joined by hyphens. All texts but the last are hexadecimal.
func (t *Table[T]) cursor(columns []string, row *T) string {
	values, parts := t.Values(row), make([]string, len(columns))
	for i, column := range columns {
		value, _ := driver.DefaultParameterConverter.ConvertValue(values[column])
		if parts[i] = fmt.Sprint(value); i+1 < len(columns) && !isInt(value) {
			parts[i] = hex.EncodeToString([]byte(parts[i]))
		}
	}
	return strings.Join(parts, "-")
}

// cutCursor is the inverse of cursor.
func (t *Table[T]) cutCursor(columns []string, cursor string) ([]any, error) {
	types, key := t.Values(new(T)), make([]any, len(columns))
	sign := strings.HasPrefix(cursor, "-") // of a negative first value
	parts := strings.SplitN(strings.TrimPrefix(cursor, "-"), "-", len(columns))
	if sign {
		parts[0] = "-" + parts[0]
	}
	for i, column := range columns {
		if i == len(parts) || parts[i] == "" {
			return nil, ErrBadCursor
		}
		zero, _ := driver.DefaultParameterConverter.ConvertValue(types[column])
		text, err := []byte(parts[i]), error(nil)
		if isInt(zero) {
			key[i], err = strconv.ParseInt(parts[i], 10, 64)
		} else {
			if i+1 < len(columns) {
				text, err = hex.DecodeString(parts[i])
			}
			key[i] = string(text)
		}
		if err != nil {
			return nil, ErrBadCursor
		}
	}
	return key, nil
}

func isInt(value driver.Value) bool {
	_, is := value.(int64)
	return is
}

// Insert inserts rows with all columns.
func (t *Table[T]) Insert(ctx context.Context, tx *Tx, merge Merge, rows ...T) error {
	all := make([][]any, len(rows))
	for i := range rows {
		all[i] = t.values(&rows[i])
	}
	return tx.Insert(ctx, t.name, t.columns, all, merge)
}

// Via maps a column to a value of another type than the field's, for [NewTable]. The function get returns the value to
// write, and set takes the value that was read.
func Via[V any](get func() V, set func(V) error) any { return via[V]{get, set} }

type via[V any] struct {
	get func() V
	set func(V) error
}

// Scan implements sql.Scanner.
func (v via[V]) Scan(src any) error {
	var value sql.Null[V]
	if err := value.Scan(src); err != nil {
		return err
	}
	return v.set(value.V)
}

// Value implements driver.Valuer.
func (v via[V]) Value() (driver.Value, error) {
	return driver.DefaultParameterConverter.ConvertValue(v.get())
}

// PairsIn returns the rows of an [EachIn] for two columns, as a map of the first to the second.
func PairsIn[K comparable, V, T any](ctx context.Context, q Querier, query string, values []T,
	args ...any) (map[K]V, error) {
	pairs := map[K]V{}
	err := EachIn(ctx, q, func(scan Scan) error {
		var key K
		var value V
		if err := scan(&key, &value); err != nil {
			return err
		}
		pairs[key] = value
		return nil
	}, query, values, args...)
	return pairs, err
}

// Wrap adds the failed operation to an error, as fmt.Errorf does; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
