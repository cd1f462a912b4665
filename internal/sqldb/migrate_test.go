package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

func TestManyNodesMigrateAtOnce(t *testing.T) {
	for range 5 {
		dsn := testenv.MySQL(t)
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() {
				db, err := sqldb.OpenMySQL(dsn)
				if err == nil {
					err = errors.Join(db.Migrate(t.Context()), db.Close())
				}
				errs[i] = err
			})
		}
		wg.Wait()
		testenv.Must(t, errors.Join(errs...))
	}
}

// TestMigrateAfterACrash begins after the crash of another node: some tables exist, and the migration is not noted.
func TestMigrateAfterACrash(t *testing.T) {
	for name, left := range map[string]string{
		"the table of versions is empty": "DELETE FROM goose_db_version",
		"the migration is not noted":     "DELETE FROM goose_db_version WHERE version_id > 0",
		"the migration is half done":     "DROP TABLE audit, payout, goose_db_version",
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqldb.OpenMySQL(testenv.MySQL(t))
			testenv.Must(t, err)
			defer func() { _ = db.Close() }()
			testenv.Must(t, db.Migrate(t.Context()))
			err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, left)
				return err
			})
			testenv.Must(t, err)
			testenv.Must(t, db.Migrate(t.Context()))
			for _, table := range []string{"audit", "payout"} {
				var n int
				testenv.WantErr(t, testenv.Err(db.First(t.Context(), []any{&n}, "SELECT COUNT(*) FROM "+table)), nil)
			}
		})
	}
}

// TestMigrateOfAnOlderVersion finds a migration of a newer version, and leaves it: so a node can be rolled back.
func TestMigrateOfAnOlderVersion(t *testing.T) {
	db := testenv.Got(sqldb.OpenMySQL(testenv.MySQL(t))).Must(t)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Migrate(t.Context()))
	testenv.Must(t, db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
		return err
	}))
	testenv.Must(t, db.Migrate(t.Context()))
	var n int
	const newer = "SELECT COUNT(*) FROM goose_db_version WHERE version_id = 99999"
	testenv.Must(t, testenv.Err(db.First(t.Context(), []any{&n}, newer)))
	testenv.Equal(t, n, 1, "rows of the newer migration")
}

// TestServersThatWouldRefuseWritesAreRefused: the error names the setting and its remedy.
func TestServersThatWouldRefuseWritesAreRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"--binlog-format=STATEMENT":    "set binlog_format to ROW or MIXED",
		"--max-allowed-packet=1048576": "max_allowed_packet 1048576, which is too small",
		"--binlog-format=MIXED":        "",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			server := testenv.StartMySQL(t, "--log-bin=binlog", "--server-id=1", setting)
			db := testenv.Got(sqldb.OpenMySQL(server.DSN)).Must(t)
			defer func() { _ = db.Close() }()
			err := db.Migrate(t.Context())
			if want == "" {
				testenv.Must(t, err)
			} else {
				testenv.Contains(t, fmt.Sprint(err), want, "error")
			}
		})
	}
}

// TestAFailedFirstMigrationNamesItsCause: goose would hide the cause behind a missing first row.
func TestAFailedFirstMigrationNamesItsCause(t *testing.T) {
	dsn := testenv.MySQL(t)
	cfg := testenv.Got(mysql.ParseDSN(dsn)).Must(t)
	admin := testenv.Got(sqldb.OpenMySQL(dsn)).Must(t)
	defer func() { _ = admin.Close() }()
	run := func(statement string) {
		t.Helper()
		testenv.Must(t, testenv.Err(admin.Exec(context.WithoutCancel(t.Context()), statement)))
	}
	name := "'" + cfg.DBName + "'@'%'"
	run("CREATE USER " + name)
	defer run("DROP USER " + name)
	run(fmt.Sprintf("GRANT CREATE, SELECT ON %s.* TO %s", cfg.DBName, name))
	cfg.User = cfg.DBName
	db := testenv.Got(sqldb.OpenMySQL(cfg.FormatDSN())).Must(t)
	defer func() { _ = db.Close() }()
	for range 2 {
		testenv.Contains(t, fmt.Sprint(db.Migrate(t.Context())), "INSERT command denied", "error")
	}
}
