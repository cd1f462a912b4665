package sqldb_test

import (
	"context"
	"errors"
	"sync"
	"testing"

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
