package reconcile_test

import (
	"testing"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// A proof that could not read a table is an error, and never books that balance.
func TestAProofSaysThatATableIsAway(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	ctx := t.Context()
	c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	f := paytest.NewFakeRedis(b.Clock.Now)
	f.Open(c)
	f.Win("c1", 0, "u1", "u2")
	b.SettleAll(t, f, 0)
	proofs := map[string]func() (bool, error){
		"one campaign": func() (bool, error) {
			r, err := b.Proof.ReconcileWith(ctx, "c1", f, reconcile.Rows)
			return r.Balanced, err
		},
		"sums": func() (bool, error) { // which read each table once
			r, err := b.Proof.ReconcileWith(ctx, "c1", f, reconcile.Sums)
			return r.Balanced, err
		},
		"everything": func() (bool, error) {
			all, err := b.Proof.ReconcileAll(ctx, f, nil)
			return all.Balanced, err
		},
	}
	for what, prove := range proofs {
		if balanced, err := prove(); !balanced || err != nil {
			t.Fatalf("%s: %v, %v", what, balanced, err)
		}
		for _, table := range []string{"payout", "reclaim", "dead_letter", "txn", "entry", "account", "balance",
			"campaign_tally", "campaign"} {
			if what == "sums" && table == "account" {
				continue // has no sums
			}
			b.Statement(t, "ALTER TABLE "+table+" RENAME TO elsewhere")
			if balanced, err := prove(); balanced || err == nil {
				t.Errorf("%s, without %s: balanced %v, %v", what, table, balanced, err)
			}
			b.Statement(t, "ALTER TABLE elsewhere RENAME TO "+table)
		}
	}
}
