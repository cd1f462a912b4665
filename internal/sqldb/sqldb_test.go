package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// onEach runs a test on every kind of database, migrated and empty.
func onEach(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (*sqldb.DB, error){
		"memory": func(*testing.T) (*sqldb.DB, error) { return sqldb.OpenSQLite("") },
		"file":   func(t *testing.T) (*sqldb.DB, error) { return sqldb.OpenSQLite(filepath.Join(t.TempDir(), "a b?c.db")) },
		"mysql":  func(t *testing.T) (*sqldb.DB, error) { return sqldb.OpenMySQL(testenv.MySQL(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			db.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
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

func amountOf(t *testing.T, q sqldb.Querier, id string) (amount int64, found bool) {
	t.Helper()
	found, err := q.First(t.Context(), []any{&amount}, "SELECT amount FROM balance WHERE account_id = ?", id)
	if err != nil {
		t.Fatal(err)
	}
	return amount, found
}

func TestPingAndMigrateAgain(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal("a second time:", err)
		}
	})
}

func TestManyNodesMigrateAtOnce(t *testing.T) {
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
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
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
			if err := put(ctx, db, step.merge, []any{"a", 7}); err != nil {
				t.Fatal(err)
			}
			if got, _ := amountOf(t, db, "a"); got != step.want {
				t.Fatalf("with %+v the amount is %d, want %d", step.merge, got, step.want)
			}
		}
		if err := put(ctx, db, sqldb.Merge{}, []any{"a", 7}); !sqldb.IsDuplicate(err) {
			t.Fatalf("a duplicate gives %v", err)
		}
	})
}

func TestInsertTakesAnyNumberOfRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		for _, n := range []int{0, 1, sqldb.Chunk, 2*sqldb.Chunk + 1} {
			rows := make([][]any, n)
			for i := range rows {
				rows[i] = []any{fmt.Sprintf("%d.%d", n, i), 1}
			}
			if err := put(t.Context(), db, sqldb.Merge{}, rows...); err != nil {
				t.Fatal(err)
			}
		}
		var n int
		if _, err := db.First(t.Context(), []any{&n}, "SELECT COUNT(*) FROM balance"); err != nil || n != 3*sqldb.Chunk+2 {
			t.Fatalf("%d rows, %v", n, err)
		}
	})
}

// TestIdsAreBytes: text collations would make one account of these.
func TestIdsAreBytes(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ids := []string{"user:u", "user:u ", "user:U", "user:ü", "user:u\u0308", "user:😀", "user:'\\\"`%_"}
		for i, id := range ids {
			if err := put(t.Context(), db, sqldb.Merge{}, []any{id, i}); err != nil {
				t.Fatalf("%q: %v", id, err)
			}
		}
		for i, id := range ids {
			if got, found := amountOf(t, db, id); !found || got != int64(i) {
				t.Errorf("%q holds %d, %v", id, got, found)
			}
		}
	})
}

func TestBalancesStayInTheirBounds(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := put(ctx, db, sqldb.Merge{}, []any{"a", -1}); !sqldb.IsRefused(err) {
			t.Errorf("a negative balance gives %v", err)
		}
		if err := put(ctx, db, sqldb.Merge{}, []any{"world", -1}); err != nil {
			t.Error(err)
		}
		if err := put(ctx, db, sqldb.Merge{}, []any{"full", int64(math.MaxInt64)}); err != nil {
			t.Error(err)
		}
		add := sqldb.Merge{Key: []string{"account_id"}, Add: []string{"amount"}}
		if err := put(ctx, db, add, []any{"full", 1}); !sqldb.IsRefused(err) {
			t.Errorf("an overflow gives %v", err)
		}
		if got, _ := amountOf(t, db, "full"); got != math.MaxInt64 {
			t.Errorf("after the overflow there is %d", got)
		}
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
		if _, found := amountOf(t, db, "a"); found {
			t.Error("the row is there")
		}
		tries := 0
		err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			if tries++; tries < 3 {
				return errors.Join(insert(ctx, tx), sqldb.ErrAgain)
			}
			return insert(ctx, tx)
		})
		if _, found := amountOf(t, db, "a"); err != nil || tries != 3 || !found {
			t.Errorf("after %d tries: %v, %v", tries, err, found)
		}
	})
}

// TestConcurrentIncrements loses an update if isolation or retrying is wrong, and it deadlocks on purpose: half of the
// workers lock the rows the other way round.
func TestConcurrentIncrements(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		const workers, rounds = 8, 40
		if err := put(t.Context(), db, sqldb.Merge{}, []any{"a", 0}, []any{"b", 0}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range workers {
			first, second := "a", "b"
			if w%2 == 1 {
				first, second = second, first
			}
			wg.Go(func() {
				for range rounds {
					err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
						for _, id := range []string{first, second} {
							if _, err := tx.Exec(ctx, "UPDATE balance SET amount = amount + 1 WHERE account_id = ?", id); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
					// A reader beside the writers is neither refused nor does it see half a transaction.
					if err := db.View(t.Context(), sameInBoth); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if got, _ := amountOf(t, db, "a"); got != workers*rounds {
			t.Errorf("%d of %d increments are there", got, workers*rounds)
		}
	})
}

func sameInBoth(ctx context.Context, tx *sqldb.Tx) error {
	var a, b int64
	for id, amount := range map[string]*int64{"a": &a, "b": &b} {
		if _, err := tx.First(ctx, []any{amount}, "SELECT amount FROM balance WHERE account_id = ?", id); err != nil {
			return err
		}
	}
	if a != b {
		return fmt.Errorf("one snapshot shows %d and %d", a, b)
	}
	return nil
}

func TestViewIsOneMomentAndCannotWrite(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		if err := put(t.Context(), db, sqldb.Merge{}, []any{"a", 1}); err != nil {
			t.Fatal(err)
		}
		err := db.View(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			if got, _ := amountOf(t, tx, "a"); got != 1 {
				t.Errorf("before: %d", got)
			}
			// Written while a view is open, which must not block it either.
			if err := put(ctx, db, sqldb.Merge{Key: []string{"account_id"}, Set: []string{"amount"}}, []any{"a", 2}); err != nil {
				return err
			}
			if got, _ := amountOf(t, tx, "a"); got != 1 {
				t.Errorf("the view has moved on to %d", got)
			}
			if _, err := tx.Exec(ctx, "UPDATE balance SET amount = 3 WHERE account_id = 'a'"); err == nil {
				t.Error("a view can write")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := amountOf(t, db, "a"); got != 2 {
			t.Errorf("afterwards: %d", got)
		}
	})
}

func TestFileKeepsMemoryDoesNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for i, want := range []bool{false, true} {
		db, err := sqldb.OpenSQLite(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, found := amountOf(t, db, "a"); found != want {
			t.Errorf("opening %d: found is %v", i+1, found)
		}
		if err := put(t.Context(), db, sqldb.Merge{Key: []string{"account_id"}}, []any{"a", 1}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	db, err := sqldb.OpenSQLite("")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("Close leaves %v, %v", left, err)
	}
}

func TestOpenFailures(t *testing.T) {
	for _, dsn := range []string{"nonsense", "u:p@tcp(h:1)/", "u:p@tcp(h:1)/db?timeout=x"} {
		if _, err := sqldb.OpenMySQL(dsn); err == nil {
			t.Errorf("%q is taken", dsn)
		}
	}
	if _, err := sqldb.OpenSQLite(filepath.Join(t.TempDir(), "no", "such", "folder.db")); err == nil {
		t.Error("a file in a folder that is not there is opened")
	}
}

// TestDeadServerIsAnErrorSoon: a server that is gone, and one that hangs, must not hold goroutines.
func TestDeadServerIsAnErrorSoon(t *testing.T) {
	server := testenv.StartMySQL(t)
	db, err := sqldb.OpenMySQL(server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := t.Context()
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
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
	within(12*time.Second, "ping of a hanging server", func() error { return db.Ping(ctx) })
	within(12*time.Second, "write to a hanging server", write)
	server.Thaw()
	server.Kill()
	within(5*time.Second, "write to a dead server", write)
	server.Start()
	testenv.Eventually(t, 10*time.Second, "writing works again", func() bool {
		err := write()
		return err == nil || sqldb.IsDuplicate(err)
	})
}

func TestMarks(t *testing.T) {
	for n, want := range map[int]string{0: "(NULL)", 1: "(?)", 3: "(?,?,?)"} {
		if got := sqldb.Marks(n); got != want {
			t.Errorf("Marks(%d) is %s", n, got)
		}
	}
	if args := sqldb.Args([]string{"a", "b"}); len(args) != 2 || args[1] != "b" {
		t.Errorf("Args gives %v", args)
	}
}

func TestRowsOfTheWrongLengthAreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		if err := put(t.Context(), db, sqldb.Merge{}, []any{"a"}); err == nil || !strings.Contains(err.Error(), "columns") {
			t.Error(err)
		}
	})
}
