package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/payout/archive"
)

// ArchiveOptions say from which ledger rows are removed.
type ArchiveOptions struct {
	MySQL   string        // a go-sql-driver DSN, of a user who may delete
	DataDir string        // instead: the directory of a server that is stopped
	Wait    time.Duration // how long to wait for the database
	Log     *slog.Logger
}

// errNotMigrated is returned for a database of another version.
var errNotMigrated = errors.New("the tables are not those of this version; run redrain migrate first")

// OpenArchive opens a ledger to remove rows from it, beside running servers or, where it is a data directory, in their
// place. stop closes it.
func OpenArchive(ctx context.Context, o ArchiveOptions) (a *archive.Archiver, stop func() error, err error) {
	var db *sqldb.DB
	unlock := func() error { return nil }
	if o.MySQL != "" {
		db, err = sqldb.OpenMySQL(o.MySQL)
	} else {
		var dir *embedded.Dir
		if dir, err = embedded.OpenDir(o.DataDir); err != nil {
			return nil, nil, fmt.Errorf("%w; stop the server first", err)
		}
		unlock = dir.Close
		db, err = sqldb.OpenSQLite(dir.Ledger())
	}
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	stop = func() error { return errors.Join(db.Close(), unlock()) }
	if err := await(ctx, o.Wait, o.Log, "mysql", db.Ping); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("mysql: %w", err), stop())
	}
	pending, err := db.Pending(ctx)
	if err == nil && len(pending) > 0 {
		err = errNotMigrated
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return archive.New(db, func() int64 { return time.Now().UnixMilli() }), stop, nil
}
