package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Dialect is the SQL dialect of a database.
type Dialect int

// The dialects.
const (
	MySQL  Dialect = iota + 1 // MySQL 8 and MariaDB 10.11: their common syntax
	SQLite                    // SQLite 3.37 and later
)

// queryTimeout limits one statement outside a transaction, and writeTimeout one try of a writing transaction. So a
// database that has stopped answering causes errors and not goroutines that wait for ever.
const (
	queryTimeout = 5 * time.Second
	writeTimeout = 8 * time.Second
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	// Log gets retried transactions, at debug level. Set it before the first use; nil means slog.Default.
	Log *slog.Logger
	// Heard is called for each statement except INSERT … VALUES, with its arguments, before it is sent: a test asks
	// the database for its query plan. Set it before the first use; nil is usual.
	Heard func(statement string, args []any)

	dialect Dialect
	writer  *sql.DB      // one connection for SQLite, a pool for MySQL
	reader  *sql.DB      // another pool, of connections that lock nothing
	cleanup func() error // runs after closing; may be nil

	// migrator opens a pool for migrations, closed after them; nil if the writer does them.
	migrator func() *sql.DB

	patience time.Duration // a writing transaction's limit for getting a connection
	// switchovers counts lost connections of writers. Connections made before the newest one are not used again: their
	// server may not be the primary any more.
	switchovers atomic.Uint64

	returning atomic.Bool // whether the server of the newest connection has INSERT … RETURNING
}

// Dialect returns the SQL dialect of the database.
func (db *DB) Dialect() Dialect { return db.dialect }

// Ping returns an error unless the database answers.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var one int
	if err := db.reader.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}

// Close waits for running statements and closes the connections. It removes an in-memory database.
func (db *DB) Close() error {
	err := errors.Join(db.reader.Close(), db.writer.Close())
	if db.cleanup != nil {
		err = errors.Join(err, db.cleanup())
	}
	return err
}

func (db *DB) hear(statement string, args []any) {
	if db.Heard != nil {
		db.Heard(statement, args)
	}
}
