package sqldb

import (
	"context"
	"sync"
)

// Mirror copies a table into memory whose rows are only added, and numbered without gaps in the order of their
// commits. So a reader that has read up to a number has missed no row. It is safe for concurrent use.
type Mirror[R any] struct {
	table    *Table[R]
	numberOf func(R) int64
	take     func(rows []R, isAll bool)

	mu     sync.Mutex // held while the database is asked, so reads are serial
	number int64      // of the newest row that was read
}

// NewMirror returns a mirror of a table without rows. The function take gets the next rows in their order;
// isAll: they replace all earlier rows.
func NewMirror[R any](table *Table[R], numberOf func(R) int64, take func(rows []R, isAll bool)) *Mirror[R] {
	return &Mirror[R]{table: table, numberOf: numberOf, take: take}
}

// mirroredAtOnce is the number of rows that one query reads.
const mirroredAtOnce = 1000

// Refresh reads the new rows, and returns them in their order; with an error it may return some of them. If the
// database was restored from a backup and has fewer rows than before, everything is read again, and no row is new.
func (m *Mirror[R]) Refresh(ctx context.Context, q Querier) (fresh []R, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { err = Wrap(err, "read the table %s", m.table.name) }()
	var newest int64
	if _, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM "+m.table.name); err != nil {
		return nil, err
	}
	number, isAll := m.number, newest < m.number
	if isAll {
		number = 0
	}
	var all []R
	for number < newest {
		rows, err := m.table.List(ctx, q, "WHERE number > ? ORDER BY number LIMIT ?", number, mirroredAtOnce)
		if err != nil {
			return fresh, err
		}
		if len(rows) == 0 {
			break
		}
		number = m.numberOf(rows[len(rows)-1])
		if isAll {
			all = append(all, rows...)
			continue
		}
		m.take(rows, false)
		m.number = number
		fresh = append(fresh, rows...)
	}
	if isAll {
		m.take(all, true)
		m.number = number
	}
	return fresh, nil
}
