package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
		for _, table := range []string{"payout", "reclaim", "dead_letter", "txn", "entry", "balance",
			"campaign_tally", "campaign"} {
			b.Statement(t, "ALTER TABLE "+table+" RENAME TO elsewhere")
			if balanced, err := prove(); balanced || err == nil {
				t.Errorf("%s, without %s: balanced %v, %v", what, table, balanced, err)
			}
			b.Statement(t, "ALTER TABLE elsewhere RENAME TO "+table)
		}
	}
}

// hanging is a Redis that never answers for one campaign.
type hanging struct {
	*paytest.FakeRedis
	campaign string
}

func (h hanging) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	if c.ID == h.campaign {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.FakeRedis.Snapshot(ctx, c)
}

// A campaign whose Redis hangs is given up after a while, and the others are proved.
func TestAProofHasADeadline(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	f := paytest.NewFakeRedis(b.Clock.Now)
	for _, id := range []string{"c1", "c2", "c3"} {
		f.Open(b.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10}))
	}
	b.Proof.SetHotLimit(time.Second)
	hot := hanging{f, "c2"}
	if r, err := b.Proof.ReconcileWith(t.Context(), "c2", hot, reconcile.Sums); !errors.Is(err, reconcile.ErrHot) {
		t.Errorf("%+v, %v", r, err)
	}
	all, err := b.Proof.ReconcileAll(t.Context(), hot, nil)
	if err != nil || all.Balanced || len(all.Unchecked) != 1 || all.Checked != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
