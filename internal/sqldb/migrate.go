package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// Migrate makes the tables, or brings them up to date. Several nodes may do it at once: one works, the others wait and
// find it done. A migration that was cut off is repeated from its beginning.
func (db *DB) Migrate(ctx context.Context) error {
	folder, dialect := "migrations/sqlite", goose.DialectSQLite3
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if db.dialect == MySQL {
		folder, dialect = "migrations/mysql", goose.DialectMySQL
		options = append(options, goose.WithSessionLocker(namedLock{}))
	}
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db.writer, files, options...)
	if err != nil {
		return fmt.Errorf("the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

// namedLock is goose's lock between nodes, as a named lock of the server: it is free again as soon as its
// connection is gone, so a node that dies while it migrates stops nobody. Names are shared by all databases of a server.
type namedLock struct{}

const lockName = "CONCAT('redrain.migrate.', MD5(DATABASE()))"

// SessionLock implements lock.SessionLocker. It asks second by second, so that no time limit of the connection cuts the
// waiting short.
func (namedLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for range 60 {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", 1)").Scan(&got); err != nil {
			return fmt.Errorf("waiting for another node's migration: %w", err)
		}
		if got.Int64 == 1 {
			return nil
		}
	}
	return errors.New("another node has been migrating the database for a minute")
}

// SessionUnlock implements lock.SessionLocker.
func (namedLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
	return err
}
