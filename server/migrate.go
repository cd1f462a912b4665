package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/sqldb"
)

// MigrateOptions are the options of Migrate.
type MigrateOptions struct {
	MySQL string        // a go-sql-driver DSN
	Wait  time.Duration // longest wait for the database
	Dry   bool          // only list the migrations
	Log   *slog.Logger
}

// Migrate migrates a database's tables to this version. Every process does so at its start; Migrate is a separate step,
// perhaps as another database user. It returns the names of the pending migrations.
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
