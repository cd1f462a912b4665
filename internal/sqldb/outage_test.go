package sqldb_test

import (
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
