package server

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/server/config"
)

// TestMigratingIsAStepOfItsOwn: a user with the rights migrates, and the servers' user has none. The servers need no
// such rights if the tables have this version. If they do not, the server's error names the command.
func TestMigratingIsAStepOfItsOwn(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQL(t)
	migrate := func(dsn string, dry bool) (pending []string, err error) {
		o := MigrateOptions{MySQL: dsn, Wait: time.Minute, Log: slog.New(slog.DiscardHandler)}
		run := Migrate
		if dry {
			run = Migrations
		}
		all, err := run(t.Context(), o)
		for _, m := range all {
			if !m.Done {
				pending = append(pending, m.Name)
			}
		}
		return pending, err
	}
	all, err := migrate(dsn, true)
	if err != nil || len(all) < 5 {
		t.Fatalf("a look at an empty database: %q, %v", all, err)
	}
	want := func(what string, done []string, err error, those ...string) {
		t.Helper()
		if err != nil || !slices.Equal(done, those) {
			t.Errorf("%s: %q, %v", what, done, err)
		}
	}
	done, err := migrate(dsn, true)
	want("another look", done, err, all...)
	done, err = migrate(dsn, false)
	want("all", done, err, all...)
	done, err = migrate(dsn, false)
	want("once more", done, err)
	limited := paytest.GrantRights(t, dsn)
	start := func() error {
		cfg := config.Config{MySQL: limited, BackendWait: time.Minute}
		b, err := connect(t.Context(), &cfg, nil, slog.New(slog.DiscardHandler))
		if err == nil {
			b.close()
		}
		return err
	}
	testenv.WantErr(t, start(), nil, "a server whose tables are there")
	admin, err := sql.Open("mysql", dsn)
	testenv.Must(t, err)
	defer func() { _ = admin.Close() }()
	if _, err := admin.ExecContext(context.Background(),
		"DELETE FROM goose_db_version WHERE version_id = ?", len(all)); err != nil {
		t.Fatal(err)
	}
	// The newest migration makes this table. If it stays, the migration needs no further rights.
	testenv.Must(t, testenv.Err(admin.ExecContext(context.Background(), "DROP TABLE list_member")))
	done, err = migrate(dsn, true)
	want("one that is missing", done, err, all[len(all)-1])
	if err := start(); !errors.Is(err, sqldb.ErrMayNotMigrate) ||
		!strings.Contains(err.Error(), "run redrain migrate") {
		t.Errorf("a server whose tables are old: %v", err)
	}
	done, err = migrate(dsn, false)
	want("by who may", done, err, all[len(all)-1])
	testenv.WantErr(t, start(), nil, "a server after that")
}
