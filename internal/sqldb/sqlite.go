package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	// sqliteReaders is the number of connections that read beside the writer.
	sqliteReaders = 8
	// writerCacheKB is the most memory that the writer uses for the database. A batch of wins changes rows all over a
	// dozen trees. With SQLite's own 2 MB its pages were written out and read again before the batch was done.
	writerCacheKB = 64 << 10
	// checkpointPages is the size of the log at which its pages go to the database: 16 MB. A page that many batches
	// change goes there once. With SQLite's own 4 MB that was after every batch.
	checkpointPages = 4000
)

// OpenSQLite opens or creates the database file at path. A committed transaction survives the loss of power.
//
// With an empty path the database lives as long as the process: in a private temporary file without fsync, removed by
// Close. It is a file, because in SQLite's own memory store a reader blocks the writer, and the writer every reader.
// A reconciliation would stop all settlement.
func OpenSQLite(path string) (*DB, error) {
	if path != "" {
		return openSQLite(path, "FULL", nil)
	}
	dir, err := os.MkdirTemp("", "redrain-sqlite-*")
	if err != nil {
		return nil, fmt.Errorf("create the in-memory database: %w", err)
	}
	remove := func() error { return os.RemoveAll(dir) }
	db, err := openSQLite(filepath.Join(dir, "ledger.db"), "OFF", remove)
	if err != nil {
		_ = remove()
	}
	return db, err
}

func openSQLite(path, synchronous string, cleanup func() error) (*DB, error) {
	// Created here, because SQLite would let all users read it. Its other files take the rights of this one.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator chooses the path
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	pragmas := []string{fmt.Sprintf("busy_timeout(%d)", lockWait.Milliseconds()), "journal_mode(WAL)",
		"synchronous(" + synchronous + ")"}
	// The writer takes the write lock at BEGIN. Taking it at the first write could fail half-way through a transaction.
	writer, err := openPool(path, url.Values{"_txlock": {"immediate"}, "_pragma": slices.Concat(pragmas, []string{
		fmt.Sprintf("cache_size(-%d)", writerCacheKB), fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages),
	})}, 1)
	if err != nil {
		return nil, err
	}
	// One connection must create the file and switch it to WAL before the readers connect. It needs no context,
	// because the file is local.
	if err := writer.PingContext(context.Background()); err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	reader, err := openPool(path, url.Values{"_pragma": append(pragmas, "query_only(1)")}, sqliteReaders)
	if err != nil {
		_ = writer.Close()
		return nil, err
	}
	db := &DB{dialect: SQLite, writer: writer, reader: reader, cleanup: cleanup, patience: writeTimeout}
	db.returning.Store(true)
	return db, nil
}

func openPool(path string, options url.Values, conns int) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	source := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: options.Encode()}
	pool, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}
