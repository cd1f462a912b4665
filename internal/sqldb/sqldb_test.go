package sqldb_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// onEach runs a test on every kind of database, migrated and empty.
func onEach(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	for _, name := range []string{"memory", "file", "mysql"} {
		t.Run(name, func(t *testing.T) {
			var db *sqldb.DB
			var err error
			switch name {
			case "memory":
				db, err = sqldb.OpenSQLite("")
			case "file":
				db, err = sqldb.OpenSQLite(filepath.Join(t.TempDir(), "a b?c.db"))
			default:
				db, err = sqldb.OpenMySQL(testenv.MySQL(t))
			}
			testenv.Must(t, err)
			t.Cleanup(func() { testenv.WantErr(t, db.Close(), nil) })
			db.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
			testenv.Must(t, db.Migrate(t.Context()))
			test(t, db)
		})
	}
}

// put inserts balances: the smallest table there is.
func put(ctx context.Context, db *sqldb.DB, merge sqldb.Merge, rows ...[]any) error {
	return db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Insert(ctx, "balance", []string{"account_id", "amount"}, rows, merge)
	})
}

// none is the amount of an account that is not there.
const none = -1

func amountOf(t *testing.T, q sqldb.Querier, id string) (amount int64) {
	t.Helper()
	found, err := q.First(t.Context(), []any{&amount}, "SELECT amount FROM balance WHERE account_id = ?", id)
	testenv.Must(t, err)
	if !found {
		return none
	}
	return amount
}

func TestInsertMerges(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		key := []string{"account_id"}
		for _, step := range []struct {
			merge sqldb.Merge
			want  int64
		}{
			{sqldb.Merge{}, 7},
			{sqldb.Merge{Key: key}, 7},
			{sqldb.Merge{Key: key, Add: []string{"amount"}}, 14},
			{sqldb.Merge{Key: key, Set: []string{"amount"}}, 7},
		} {
			testenv.Must(t, put(ctx, db, step.merge, []any{"a", 7}))
			testenv.Equal(t, amountOf(t, db, "a"), step.want, "with %+v the amount", step.merge)
		}
		if err := put(ctx, db, sqldb.Merge{}, []any{"a", 7}); !sqldb.IsDuplicate(err) {
			t.Fatalf("a duplicate gives %v", err)
		}
	})
}

// TestIdsAreBytes: text collations would make one account of these.
func TestIdsAreBytes(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ids := []string{"user:u", "user:u ", "user:U", "user:ü", "user:u\u0308", "user:😀", "user:'\\\"`%_"}
		for i, id := range ids {
			testenv.Must(t, put(t.Context(), db, sqldb.Merge{}, []any{id, i}))
		}
		for i, id := range ids {
			testenv.Equal(t, amountOf(t, db, id), int64(i), "%q holds", id)
		}
	})
}

func TestBalancesStayInTheirBounds(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := put(ctx, db, sqldb.Merge{}, []any{"a", -1}); !sqldb.IsRefused(err) {
			t.Errorf("a negative balance gives %v", err)
		}
		testenv.WantErr(t, put(ctx, db, sqldb.Merge{}, []any{"world:7", -1}), nil)
		testenv.WantErr(t, put(ctx, db, sqldb.Merge{}, []any{"full", int64(math.MaxInt64)}), nil)
		add := sqldb.Merge{Key: []string{"account_id"}, Add: []string{"amount"}}
		if err := put(ctx, db, add, []any{"full", 1}); !sqldb.IsRefused(err) {
			t.Errorf("an overflow gives %v", err)
		}
		testenv.Equal(t, amountOf(t, db, "full"), math.MaxInt64, "after the overflow there is")
	})
}

func TestInTxRollsBack(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		boom := errors.New("boom")
		insert := func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Insert(ctx, "balance", []string{"account_id", "amount"}, [][]any{{"a", 1}}, sqldb.Merge{})
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return errors.Join(insert(ctx, tx), boom)
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_ = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				_ = insert(ctx, tx)
				panic("boom")
			})
		}()
		testenv.Equal(t, amountOf(t, db, "a"), none, "the row is there")
		tries := 0
		err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			if tries++; tries < 3 {
				return errors.Join(insert(ctx, tx), sqldb.ErrAgain)
			}
			return insert(ctx, tx)
		})
		if found := amountOf(t, db, "a"); err != nil || tries != 3 || found == none {
			t.Errorf("after %d tries: %v, %v", tries, err, found)
		}
	})
}

func TestFileKeepsMemoryDoesNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for i, want := range []int64{none, 1} {
		db := testenv.Got(sqldb.OpenSQLite(path)).Must(t)
		testenv.Must(t, db.Migrate(t.Context()))
		testenv.Equal(t, amountOf(t, db, "a"), want, "opening %d", i+1)
		testenv.Must(t, put(t.Context(), db, sqldb.Merge{Key: []string{"account_id"}}, []any{"a", 1}))
		testenv.Must(t, db.Close())
	}
	t.Setenv("TMPDIR", t.TempDir())
	db := testenv.Got(sqldb.OpenSQLite("")).Must(t)
	testenv.Must(t, db.Close())
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("Close leaves %v, %v", left, err)
	}
}

func TestMarks(t *testing.T) {
	for n, want := range map[int]string{0: "(NULL)", 1: "(?)", 3: "(?,?,?)"} {
		testenv.Equal(t, sqldb.Marks(n), want, "Marks(%d) is", n)
	}
	if args := sqldb.Args([]string{"a", "b"}); len(args) != 2 || args[1] != "b" {
		t.Errorf("Args gives %v", args)
	}
}

// TestCheckMySQL: OpenMySQL refuses a DSN exactly if CheckMySQL does.
func TestCheckMySQL(t *testing.T) {
	testenv.WantFail(t, testenv.Err(sqldb.OpenSQLite(filepath.Join(t.TempDir(), "no", "such", "folder.db"))),
		"a file in a folder that is not there is opened")
	for dsn, want := range map[string]struct{ refused, noDatabase bool }{
		"u:p@tcp(h:3306)/redrain": {}, "u:p@tcp(h:3306)/": {true, true}, "h:3306/redrain": {true, false},
		"nonsense": {true, false}, "u:p@tcp(h:1)/db?timeout=x": {true, false},
	} {
		err := sqldb.CheckMySQL(dsn)
		if (err != nil) != want.refused || errors.Is(err, sqldb.ErrNoDatabase) != want.noDatabase {
			t.Errorf("%s: %v", dsn, err)
		}
		db, err := sqldb.OpenMySQL(dsn)
		testenv.Equal(t, err != nil, want.refused, "%s: OpenMySQL says %v", dsn, err)
		if err == nil {
			_ = db.Close()
		}
	}
}
