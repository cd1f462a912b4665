package sqldb

import (
	"context"
	"sync"
)

// Mirror copies a table into memory whose rows are only added, and numbered without gaps in the order of their
// commits. So a reader that has read up to a number has missed no row. It is safe for concurrent use.
type Mirror[R any] struct {
	table *Table[R]
	place func(R) (number int64, key string)
	keep  func(old []R, row R) []R

	reading sync.Mutex // held while the database is asked, so reads are serial
	number  int64      // of the newest row that was read

	mu   sync.RWMutex
	rows map[string][]R
}

// NewMirror returns an empty mirror. place returns a row's number and key; keep adds a row to those of its key.
func NewMirror[R any](table *Table[R], place func(R) (number int64, key string),
	keep func(old []R, row R) []R) *Mirror[R] {
	return &Mirror[R]{table: table, place: place, keep: keep, rows: map[string][]R{}}
}

// Rows returns the rows of a key. The caller must not change them.
func (m *Mirror[R]) Rows(key string) []R {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rows[key]
}

const mirroredAtOnce = 1000

// Refresh reads the new rows, and returns them in their order; with an error it may return some of them. If the
// database was restored from a backup and has fewer rows than before, everything is read again, and no row is new.
func (m *Mirror[R]) Refresh(ctx context.Context, q Querier) (fresh []R, err error) {
	m.reading.Lock()
	defer m.reading.Unlock()
	defer func() { err = Wrap(err, "read the table %s", m.table.name) }()
	var newest int64
	if _, err := q.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(number), 0) FROM "+m.table.name); err != nil {
		return nil, err
	}
	number, isAll, into := m.number, newest < m.number, m.rows
	if isAll {
		number, into = 0, map[string][]R{}
	}
	for number < newest {
		rows, err := m.table.List(ctx, q, "WHERE number > ? ORDER BY number LIMIT ?", number, mirroredAtOnce)
		if err != nil {
			return fresh, err
		}
		if len(rows) == 0 {
			break
		}
		m.mu.Lock()
		for _, row := range rows {
			var key string
			number, key = m.place(row)
			into[key] = m.keep(into[key], row)
		}
		m.mu.Unlock()
		if !isAll {
			m.number, fresh = number, append(fresh, rows...)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number, m.rows = number, into
	return fresh, nil
}
