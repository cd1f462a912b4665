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

// TestConcurrentIncrements loses an update if isolation or retrying is wrong, and it deadlocks on purpose: half of the
// workers lock the rows the other way round.
func TestConcurrentIncrements(t *testing.T) {
	onEach(t, func(db subject) {
		t := db.t
		const workers, rounds = 8, 40
		testenv.Must(t, put(t.Context(), db.DB, sqldb.Merge{}, []any{"a", 0}, []any{"b", 0}))
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
	onEach(t, func(db subject) {
		t := db.t
		testenv.Must(t, put(t.Context(), db.DB, sqldb.Merge{}, []any{"a", 1}))
		err := db.View(t.Context(), time.Minute, func(ctx context.Context, tx *sqldb.Tx) error {
			if got, _ := amountOf(t, tx, "a"); got != 1 {
				t.Errorf("before: %d", got)
			}
			// Written while a view is open, which must not block it either.
			if err := put(ctx, db.DB, sqldb.Merge{Key: []string{"account_id"}, Set: []string{"amount"}},
				[]any{"a", 2}); err != nil {
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
		testenv.Must(t, err)
		if got, _ := amountOf(t, db, "a"); got != 2 {
			t.Errorf("afterwards: %d", got)
		}
	})
}
