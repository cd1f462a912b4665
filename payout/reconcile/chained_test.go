package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
)

// ofOneCampaign are changes by hand that move no cent and leave every sum as it was, so that only the history of the
// campaign, or the chain of its transactions, can tell.
var ofOneCampaign = []struct{ campaign, table, sql, named string }{
	{"c1", "campaign", "UPDATE campaign SET status = 'closed' WHERE id = 'c1'", "history"},
	{"c1", "campaign", "UPDATE campaign SET expires_at = expires_at + 1 WHERE id = 'c1'", "history"},
	{"c1", "campaign", "UPDATE campaign SET revision = revision + 1 WHERE id = 'c1'", "history"},
	{"c1", "campaign", "UPDATE campaign SET name = 'another' WHERE id = 'c1'", "fund:c1"},
	{"c1", "campaign", "UPDATE campaign SET created_at = created_at - 1 WHERE id = 'c1'", "fund:c1"},
	{"c2", "campaign", "UPDATE campaign SET packets = -1000 WHERE id = 'c2'", "makes no sense"},
	{"c3", "campaign", "UPDATE campaign SET drained = 0 WHERE id = 'c3'", "history"},
	{"c3", "rain", "DELETE FROM rain WHERE campaign_id = 'c3'", "history"},
	{"c5", "campaign", "UPDATE campaign SET expires_at = expires_at + 1 WHERE id = 'c5'", "history"},
	{"c1", "payout", "UPDATE payout SET settled_at = settled_at + 5 WHERE campaign_id = 'c1' AND packet = 0", "chain"},
	{"c1", "txn", "UPDATE txn SET created_at = created_at + 1 WHERE kind = 'pay'", "chain"},
	{"c2", "txn", "UPDATE txn SET idem_key = 'reclaim:another' WHERE idem_key LIKE 'reclaim:c2%'", "reclaim:another"},
}

// TestOneCampaignIsHeldAgainstItsHistoryAndItsChain makes these changes, one at a time, and wants the proof of that
// campaign alone to name each.
func TestOneCampaignIsHeldAgainstItsHistoryAndItsChain(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			l := &columnLedger{t: t, b: b, f: fullLedger(t, b)}
			prove := func(campaign string) reconcile.Reconciliation {
				r, err := b.Proof.ReconcileWith(t.Context(), campaign, l.f, reconcile.Chained)
				if err != nil {
					t.Fatalf("%s: %v", campaign, err)
				}
				return r
			}
			for _, table := range []string{"campaign", "rain", "payout", "txn"} {
				l.keep(table)
			}
			for _, deed := range ofOneCampaign {
				if r := prove(deed.campaign); !r.Balanced {
					t.Fatalf("%s, untouched: %+v", deed.campaign, r)
				}
				change(t, b, deed.sql)
				r := prove(deed.campaign)
				named := slices.ContainsFunc(r.Findings, func(s string) bool { return strings.Contains(s, deed.named) })
				if r.Balanced || !named {
					t.Errorf("%s: %q is not named in %q", deed.sql, deed.named, r.Findings)
				}
				l.restore(deed.table)
			}
		})
	}
}
