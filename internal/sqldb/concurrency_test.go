package sqldb_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestConcurrentIncrements loses an update if isolation or retrying is wrong. It deadlocks on purpose: half of the
// workers lock the rows in the opposite order.
func TestConcurrentIncrements(t *testing.T) {
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		const workers, rounds = 8, 40
		testenv.Must(t, put(t.Context(), db, sqldb.Merge{}, []any{"a", 0}, []any{"b", 0}))
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
							if _, err := tx.Exec(ctx, "UPDATE balance SET amount = amount + 1 WHERE account_id = ?",
								id); err != nil {
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
					if err := db.View(t.Context(), time.Minute, sameInBoth); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		testenv.Equal(t, amountOf(t, db, "a"), workers*rounds, "increments")
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
		testenv.Must(t, put(t.Context(), db, sqldb.Merge{}, []any{"a", 1}))
		err := db.View(t.Context(), time.Minute, func(ctx context.Context, tx *sqldb.Tx) error {
			testenv.Equal(t, amountOf(t, tx, "a"), 1, "before")
			// Written while a view is open, which must not block it either.
			if err := put(ctx, db, sqldb.Merge{Key: []string{"account_id"}, Set: []string{"amount"}},
				[]any{"a", 2}); err != nil {
				return err
			}
			testenv.Equal(t, amountOf(t, tx, "a"), 1, "in the view")
			testenv.WantFail(t, testenv.Err(tx.Exec(ctx, "UPDATE balance SET amount = 3 WHERE account_id = 'a'")),
				"a view can write")
			return nil
		})
		testenv.Must(t, err)
		testenv.Equal(t, amountOf(t, db, "a"), 2, "afterwards")
	})
}
