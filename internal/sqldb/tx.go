package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxTries is how often a transaction is tried. Deadlocks come in swarms where many workers hit one campaign; with the
// growing pauses between them, twelve tries take about three seconds.
const maxTries = 12

// Tx is a running transaction.
type Tx struct {
	tx        *sql.Tx
	dialect   Dialect
	returning bool // INSERT can have RETURNING
}

// InTx runs fn in a transaction that writes, and commits it. Where it met a deadlock, a lock that took too long, or fn
// asks for it with [ErrAgain], all is rolled back and fn runs again after a short random pause: fn must have no effect
// but on tx, and start afresh each time.
//
// An error at the commit itself leaves open whether the transaction took place. It is returned, not retried: only
// the caller knows whether its work may be done twice.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	for try := 1; ; try++ {
		err := db.once(ctx, fn)
		if err == nil || !again(err) || ctx.Err() != nil {
			return err
		}
		if try == maxTries {
			return fmt.Errorf("given up after %d tries: %w", maxTries, err)
		}
		db.log().DebugContext(ctx, "transaction is tried again", "try", try, "err", err)
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// once runs fn in one transaction.
func (db *DB) once(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		// Also when fn panics: a connection left in a transaction would be poison for the pool. After a commit
		// it does nothing. A failed rollback adds nothing to the error that led here.
		_ = tx.Rollback()
	}()
	if err := fn(ctx, db.begun(tx)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (db *DB) begun(tx *sql.Tx) *Tx {
	return &Tx{tx: tx, dialect: db.dialect, returning: db.returning.Load()}
}

// View runs fn in a transaction that only reads, and in which every statement sees the database as it was at the
// first one. It holds no locks. The time is limited by ctx alone.
func (db *DB) View(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	var options *sql.TxOptions // SQLite's readers are snapshots by themselves
	if db.dialect == MySQL {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.reader.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written, so nothing can be lost with it
	return fn(ctx, db.begun(tx))
}

// pause waits before the next try: 2 ms doubled with each try up to half a second, half of it by chance, so that
// transactions that met once do not meet again.
func pause(ctx context.Context, try int) error {
	longest := min(2*time.Millisecond<<try, 500*time.Millisecond)
	timer := time.NewTimer(longest/2 + rand.N(longest/2)) //nolint:gosec // spreads load, keeps no secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
