package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"redrain/payout/paytest"
)

// TestAFaultThatStaysHoldsUpNoCheckpoint: a fault that nobody mends is named by each proof of what is recent, also when
// checkpoints have gone far beyond it; once it is mended nothing is left of it.
func TestAFaultThatStaysHoldsUpNoCheckpoint(t *testing.T) {
	t.Parallel()
	const forged = "a forged checkpoint"
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			for range 8 {
				l.goOn()
				if found, _ := l.recent(); len(found) > 0 {
					t.Fatalf("round %d: %q", l.round, found)
				}
			}
			for _, fault := range []struct{ what, sql, back, named string }{
				{"a transaction that was changed", "UPDATE txn SET created_at = created_at + 1 OF NEWEST",
					"UPDATE txn SET created_at = created_at - 1 OF NEWEST", "deposit:acme:more"},
				{"a line of which some is gone",
					"UPDATE entry SET amount = amount - 1 WHERE amount > 0 AND txn_id = (SELECT id FROM txn OF NEWEST)",
					"UPDATE entry SET amount = amount + 1 WHERE amount > 0 AND txn_id = (SELECT id FROM txn OF NEWEST)",
					"sums to -1, not to 0"},
				{"an escrow with more than it has",
					"UPDATE balance SET amount = amount + 7 WHERE account_id = 'escrow:c1'",
					"UPDATE balance SET amount = amount - 7 WHERE account_id = 'escrow:c1'",
					"the balance of escrow:c1"},
				{"a live campaign's row", "UPDATE campaign SET expires_at = expires_at + 1",
					"UPDATE campaign SET expires_at = expires_at - 1", "campaign c1"},
				{forged, "INSERT INTO proof_checkpoint SELECT number + 1, taken_at, ends, last_txn + 100, " +
					"holes, seal, key_id, seal FROM proof_checkpoint ORDER BY number DESC LIMIT 1",
					"DELETE FROM proof_checkpoint WHERE previous = seal", "its seal is wrong"},
			} {
				l.goOn() // no checkpoint has closed what is new
				newest := " WHERE idem_key = " + fmt.Sprintf("'deposit:acme:more %d'", l.round)
				change(t, l.b, strings.ReplaceAll(fault.sql, " OF NEWEST", newest))
				found, before := l.recent()
				if !names(found, fault.named) {
					t.Fatalf("%s is not named: %q", fault.what, found)
				}
				var since int64
				for range 6 {
					l.goOn()
					// A forged checkpoint is behind the next one, and so the full proof's to name.
					if found, since = l.recent(); !names(found, fault.named) && fault.what != forged {
						t.Fatalf("%s is not named in round %d: %q", fault.what, l.round, found)
					}
				}
				if since < before+3 {
					t.Errorf("%s: from checkpoint %d on, six rounds have come to %d", fault.what, before, since)
				}
				if found = l.full(); !names(found, fault.named) {
					t.Errorf("%s is not named by every row: %q", fault.what, found)
				}
				change(t, l.b, strings.ReplaceAll(fault.back, " OF NEWEST", newest))
				if found, _ = l.recent(); len(found) > 0 {
					t.Fatalf("%s, put right: %q", fault.what, found)
				}
				if found = l.full(); len(found) > 0 {
					t.Fatalf("%s, put right, by every row: %q", fault.what, found)
				}
			}
			l.b.CheckBooks(t)
		})
	}
}
