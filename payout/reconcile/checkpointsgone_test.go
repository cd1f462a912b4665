package reconcile_test

import (
	"context"
	"testing"
	"time"

	"redrain/payout/paytest"
)

// TestCheckpointsThatSomebodyRemovesHoldUpNothing takes checkpoints away, or their sums, or gives one a number that
// none comes to. The next proof ends, names that, makes checkpoints, and carries nothing forward from what is left; so
// does each later one, and the full proof, until what is left is gone too.
func TestCheckpointsThatSomebodyRemovesHoldUpNothing(t *testing.T) {
	t.Parallel()
	const (
		last     = "9223372036854775807"
		newest   = "(SELECT m FROM (SELECT MAX(number) AS m FROM proof_checkpoint) x)"
		copyOf   = "INSERT INTO proof_checkpoint SELECT "
		ofNewest = ", taken_at, ends, last_txn, holes, previous, key_id, seal FROM proof_checkpoint " +
			"WHERE number = " + newest
		sumsOf   = "INSERT INTO proof_sum SELECT subject, "
		someSums = ", rows_seen, numbers, amount, key_id, seal FROM proof_sum " +
			"WHERE checkpoint = (SELECT m FROM (SELECT MAX(checkpoint) AS m FROM proof_sum) y)"
		stray  = "there are sums of checkpoint "
		lie    = `the sum of "payouts c1 0" that is carried forward is not that of its rows`
		sealed = "its seal is wrong"
	)
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			recent := func(what string) ([]string, int64) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				books, err := l.b.Proof.ReconcileRecent(ctx, l.f, nil)
				if err != nil || books.Since == nil {
					t.Fatalf("%s: %v", what, err)
				}
				return all(books), books.Since.Checkpoint
			}
			for _, attack := range []struct {
				what, sql string
				named     []string
				back      string
			}{
				{"all are gone", "DELETE FROM proof_checkpoint", []string{stray}, ""},
				{"the newest ones are gone", "DELETE FROM proof_checkpoint WHERE number >= " + newest + " - 1",
					[]string{stray}, ""},
				{"all but sums of the newest are gone", "DELETE FROM proof_sum WHERE checkpoint < " + newest +
					"; DELETE FROM proof_checkpoint", []string{stray}, ""},
				{"the newest has the last number that there is", "UPDATE proof_checkpoint SET number = " + last +
					" WHERE number = " + newest, []string{sealed, stray},
					"DELETE FROM proof_checkpoint WHERE number = " + last},
				{"one is behind all numbers, and one before", copyOf + "4611686018427387903" + ofNewest + "; " +
					copyOf + "-9223372036854775807" + ofNewest, []string{sealed},
					"DELETE FROM proof_checkpoint WHERE number > 4611686018427387900 OR number < 0"},
				{"sums are of the last number that there is", sumsOf + last + someSums, []string{stray}, ""},
				{"sums are of the next number", sumsOf + newest + " + 1" + someSums, []string{stray}, ""},
				{"all sums are gone", "DELETE FROM proof_sum", []string{lie},
					"DELETE FROM proof_checkpoint"},
			} {
				for range 4 {
					l.goOn()
					if found, _ := recent(attack.what); len(found) > 0 {
						t.Fatalf("before %s: %q", attack.what, found)
					}
				}
				change(t, l.b, attack.sql)
				var first, at int64
				for round := range 4 {
					l.goOn()
					found, since := recent(attack.what)
					for _, named := range attack.named {
						if !names(found, named) {
							t.Errorf("%s: %q is not named in %q", attack.what, named, found)
						}
					}
					if len(found) > len(attack.named) && attack.back == "" {
						t.Errorf("%s: found %q", attack.what, found)
					}
					if at = since; round == 0 {
						first = since
					}
				}
				if at < first+2 {
					t.Errorf("%s: from checkpoint %d on, four rounds have come to %d", attack.what, first, at)
				}
				if found := l.full(); len(found) == 0 && attack.named[0] != lie {
					t.Errorf("%s: the full proof has found nothing", attack.what)
				}
				if attack.back != "" {
					change(t, l.b, attack.back)
				}
				change(t, l.b, "DELETE FROM proof_sum WHERE NOT EXISTS (SELECT 1 FROM proof_checkpoint c "+
					"WHERE c.number = proof_sum.checkpoint)")
				for range 2 {
					l.goOn()
					if found, _ := recent(attack.what); len(found) > 0 {
						t.Errorf("%s, put right: %q", attack.what, found)
					}
				}
				if found := l.full(); len(found) > 0 {
					t.Errorf("%s, put right, by every row: %q", attack.what, found)
				}
			}
		})
	}
}
