package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/loop"
)

// maxTries is the number of tries of a transaction. If many workers post to one campaign there are many deadlocks;
// with the growing pauses between them, twelve tries take about three seconds.
const maxTries = 12

// Tx is a running transaction.
type Tx struct {
	tx        *sql.Tx
	db        *DB
	dialect   Dialect
	returning bool // the server has INSERT … RETURNING
}

// InTx runs fn in a transaction that writes, and commits it. After a deadlock or [ErrAgain] from fn, it rolls back
// and runs fn again after a short random pause. So fn must have no effect except on tx, and must reset its results
// when it starts. It does not wait again for a row that another transaction has held for seconds: see [IsBusy].
//
// After an error of the commit itself the outcome of the transaction is unknown, unless the server has refused it. The
// error is returned without a retry, because only the caller can decide whether its work may be done twice.
//
// Under a context of [Joined] it runs fn once, in the joined transaction, which commits it or not.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	if j, ok := ctx.Value(joinedKey{}).(joined); ok && j.db == db {
		return fn(ctx, j.tx)
	}
	for try := 1; ; try++ {
		err := db.once(ctx, fn)
		if errors.Is(err, driver.ErrBadConn) {
			db.switchovers.Add(1)
		}
		if err == nil || !again(err) || ctx.Err() != nil {
			return err
		}
		if try == maxTries {
			return fmt.Errorf("run the transaction: %d tries: %w", maxTries, err)
		}
		cmp.Or(db.Log, slog.Default()).DebugContext(ctx, "transaction is tried again", "try", try, "err", err)
		if !loop.Sleep(ctx, loop.Backoff(4*time.Millisecond, 500*time.Millisecond, try-1)) {
			return ctx.Err()
		}
	}
}

type joinedKey struct{}

// joined is a transaction that those of a context are part of.
type joined struct {
	db *DB
	tx *Tx
}

// Joined returns a context under which transactions of db are part of tx, so that several steps are done together or
// not at all. Any failure under it must fail tx: a refused statement may have written rows before. It must not
// outlive tx.
func Joined(ctx context.Context, db *DB, tx *Tx) context.Context {
	return context.WithValue(ctx, joinedKey{}, joined{db, tx})
}

// IsJoined reports whether transactions under ctx are part of another.
func IsJoined(ctx context.Context) bool {
	_, is := ctx.Value(joinedKey{}).(joined)
	return is
}

func (db *DB) once(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	tx, err := db.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		// Also after a panic of fn, because the pool must not reuse a connection inside a transaction. After a commit
		// it does nothing. The caller needs the first error, not that of a failed rollback.
		_ = tx.Rollback()
	}()
	begun := db.begun(tx)
	if err := guarded(ctx, begun); err != nil {
		return err
	}
	if err := fn(ctx, begun); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// begin begins a transaction that writes. It soon returns an error if all connections wait.
func (db *DB) begin(ctx context.Context) (*sql.Tx, error) {
	trying, stop := context.WithCancelCause(ctx)
	enough := time.AfterFunc(db.patience, func() { stop(errNoConnection) })
	tx, err := db.writer.BeginTx(trying, nil)
	if !enough.Stop() && err == nil {
		_ = tx.Rollback() // the context of the transaction has ended
		err = errNoConnection
	}
	if err == nil {
		return tx, nil // it lives in trying, which ends with ctx
	}
	defer stop(nil)
	if errors.Is(context.Cause(trying), errNoConnection) {
		err = errNoConnection
	}
	return nil, err
}

func (db *DB) begun(tx *sql.Tx) *Tx {
	return &Tx{tx: tx, db: db, dialect: db.dialect, returning: db.returning.Load()}
}

// View runs fn in a read-only transaction in which every statement sees the database as it was at the first one. It
// holds no locks. It ends with an error after limit, so that a database which has stopped answering blocks no caller
// for ever.
func (db *DB) View(ctx context.Context, limit time.Duration, fn func(ctx context.Context, tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var options *sql.TxOptions // SQLite's readers are snapshots by themselves
	if db.dialect == MySQL {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.reader.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return fn(ctx, db.begun(tx))
}

// Guarded returns ctx with a condition: each writing transaction under it calls the guard first, and does nothing if
// that fails. So a worker under a lease checks the lease in all of its steps.
func Guarded(ctx context.Context, guard func(ctx context.Context, tx *Tx) error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

type guardKey struct{}

func guarded(ctx context.Context, tx *Tx) error {
	guard, has := ctx.Value(guardKey{}).(func(context.Context, *Tx) error)
	if !has {
		return nil
	}
	return guard(ctx, tx)
}
