package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/sqldb"
)

// MigrateOptions say which database is migrated, and how.
type MigrateOptions struct {
	MySQL string        // a go-sql-driver DSN
	Wait  time.Duration // how long to wait for the database
	Dry   bool          // only look
	Log   *slog.Logger
}

// Migrate brings a database's tables to this version, as every process does at its start, but as a step of its own and
// perhaps by another user. It names the migrations that were to be done.
func Migrate(ctx context.Context, o MigrateOptions) (done []string, err error) {
	db, err := sqldb.OpenMySQL(o.MySQL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := await(ctx, o.Wait, o.Log, "mysql", db.Ping); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	pending, err := db.Pending(ctx)
	if err != nil || o.Dry || len(pending) == 0 {
		return pending, err
	}
	return pending, db.Migrate(ctx)
}
