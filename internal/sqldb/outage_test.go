package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestDeadServerIsAnErrorSoon: a server that is gone, and one that hangs, must not hold goroutines.
func TestDeadServerIsAnErrorSoon(t *testing.T) {
	t.Parallel() // it waits for time-outs, on a server of its own
	server := testenv.StartMySQL(t)
	db := testenv.Got(sqldb.OpenMySQL(server.DSN)).Must(t)
	defer func() { _ = db.Close() }()
	ctx := t.Context()
	testenv.Must(t, db.Migrate(ctx))
	within := func(limit time.Duration, what string, do func() error) {
		t.Helper()
		start := time.Now()
		if err := do(); err == nil {
			t.Errorf("%s: no error", what)
		} else if sqldb.IsRefused(err) || sqldb.IsDuplicate(err) {
			t.Errorf("%s: %v counts as the data's fault", what, err)
		}
		if took := time.Since(start); took > limit {
			t.Errorf("%s takes %v", what, took)
		}
	}
	write := func() error { return put(ctx, db, sqldb.Merge{}, []any{"a", 1}) }

	server.Freeze()
	within(20*time.Second, "ping of a hanging server", func() error { return db.Ping(ctx) })
	within(20*time.Second, "write to a hanging server", write)
	server.Thaw()
	server.Kill()
	within(20*time.Second, "write to a dead server", write)
	server.Start()
	testenv.Eventually(t, 10*time.Second, "writing works again", func() bool {
		err := write()
		return err == nil || sqldb.IsDuplicate(err)
	})
}

// TestASwitchoverIsFollowed: the name leads to another server, and the old primary goes on, read-only. Each connection
// to it is replaced at its first write, and then those that only read. Otherwise nothing would be paid until a restart.
func TestASwitchoverIsFollowed(t *testing.T) {
	t.Parallel()
	old, young := testenv.StartMySQLPair(t)
	name := testenv.NewProxy(t, old.Addr)
	db := testenv.Got(sqldb.OpenMySQL(strings.Replace(old.DSN, old.Addr, name.Addr, 1))).Must(t)
	t.Cleanup(func() { _ = db.Close() })
	testenv.Must(t, db.Migrate(t.Context()))
	const writers = 24
	var number atomic.Int64
	writeAtOnce := func() (failed error) {
		errs := make([]error, writers)
		var all, inside sync.WaitGroup
		inside.Add(writers)
		for i := range writers {
			all.Go(func() {
				first := sync.OnceFunc(inside.Done)
				defer first()
				errs[i] = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
					first()
					inside.Wait() // each has a connection
					id := strconv.FormatInt(number.Add(1), 10)
					return tx.Insert(ctx, "balance", []string{"account_id", "amount"}, [][]any{{id, 1}}, sqldb.Merge{})
				})
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
	testenv.Must(t, writeAtOnce())
	newest := func() string { return strconv.FormatInt(number.Load(), 10) }
	testenv.Equal(t, amountOf(t, db, newest()), 1, "what was written before")

	old.SwitchOver(young)
	name.To(young.Addr)
	testenv.Must(t, writeAtOnce())
	testenv.Equal(t, amountOf(t, db, newest()), 1, "what was written last, on a connection that only reads")

	name.To(old.Addr)
	name.Cut()
	err := writeAtOnce()
	testenv.Contains(t, fmt.Sprint(err), "read-only", "on the old primary")
	testenv.Equal(t, sqldb.IsUnavailable(err), true, "%v passes", err)
	testenv.Must(t, db.Ping(t.Context())) // it is still good for reading
	name.To(young.Addr)
	testenv.Must(t, writeAtOnce())
}
