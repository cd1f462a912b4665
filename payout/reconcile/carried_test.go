package reconcile_test

import (
	"testing"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
)

// sumColumns are all of proof_sum.
const sumColumns = "subject, checkpoint, rows_seen, numbers, amount, key_id, seal"

// TestLiveSumsGoOnFromTheCheckpoint: a look at the sums of a campaign reads no payout that a checkpoint has closed,
// says what all rows together would say, and names a carried sum that is a lie.
func TestLiveSumsGoOnFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			sums := func() reconcile.Reconciliation {
				t.Helper()
				r, err := l.b.Proof.ReconcileWith(t.Context(), "c1", l.f, reconcile.Sums)
				paytest.Must(t, err)
				return r
			}
			for range 6 {
				l.goOn()
				if found, _ := l.recent(); len(found) > 0 {
					t.Fatalf("round %d: %q", l.round, found)
				}
			}
			l.goOn() // is behind the newest checkpoint
			l.f.Win("c1", 0, "waits")
			if r := sums(); !r.Balanced || r.Paid == 0 || r.Unsettled == 0 {
				t.Fatalf("%+v", r)
			}
			const newestPayout = "(SELECT m FROM (SELECT MAX(txn_id) AS m FROM payout) x)"
			// Its payouts are closed, so a look at the sums does not see what the look at the rows does.
			const closed = "UPDATE payout SET amount = amount + 1 WHERE campaign_id = 'c1' AND packet = 0"
			change(t, l.b, closed)
			if r := sums(); !r.Balanced {
				t.Fatalf("closed payouts were read: %+v", r)
			}
			if r, err := l.b.Proof.ReconcileWith(t.Context(), "c1", l.f, reconcile.Rows); err != nil || r.Balanced {
				t.Fatalf("the rows were not read: %+v, %v", r, err)
			}
			change(t, l.b, "UPDATE payout SET amount = amount - 1 WHERE campaign_id = 'c1' AND packet = 0")
			for what, forgery := range map[string]struct{ sql, back, named string }{
				"a sum without its seal": {"UPDATE proof_sum SET amount = amount + 1 WHERE subject = 'payouts c1 0'",
					"UPDATE proof_sum SET amount = amount - 1 WHERE subject = 'payouts c1 0'", "its seal is wrong"},
				"payouts that are carried no more": {
					"CREATE TABLE w AS SELECT " + sumColumns + " FROM proof_sum WHERE subject = 'payouts c1 0'; " +
						"DELETE FROM proof_sum WHERE subject = 'payouts c1 0'",
					"INSERT INTO proof_sum SELECT * FROM w; DROP TABLE w",
					`the sum of "payouts c1 0" that is carried forward is not that of its rows`},
				"an escrow that goes back": {
					"CREATE TABLE w AS SELECT " + sumColumns +
						" FROM proof_sum WHERE subject = 'escrow c1 pay' AND checkpoint > 1; " +
						"DELETE FROM proof_sum WHERE subject = 'escrow c1 pay' AND checkpoint > 1",
					"INSERT INTO proof_sum SELECT * FROM w; DROP TABLE w",
					`the sum of "escrow c1 pay" that is carried forward is not that of its rows`},
				"a payout behind the checkpoint": {
					"UPDATE payout SET amount = amount + 1 WHERE txn_id = " + newestPayout,
					"UPDATE payout SET amount = amount - 1 WHERE txn_id = " + newestPayout, "the split says"},
				"a tally": {"UPDATE campaign_tally SET paid = paid + 1", "UPDATE campaign_tally SET paid = paid - 1",
					"the tally says"},
			} {
				change(t, l.b, forgery.sql)
				if r := sums(); r.Balanced || !names(r.Findings, forgery.named) {
					t.Errorf("%s: %q is not named in %q", what, forgery.named, r.Findings)
				}
				change(t, l.b, forgery.back)
				if r := sums(); !r.Balanced {
					t.Fatalf("%s, put right: %+v", what, r)
				}
			}
		})
	}
}
