package ledger_test

import (
	"slices"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestPendingProofs: a campaign is pending from when it is drained until every row of it was read and all is well.
func TestPendingProofs(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		f := paytest.NewFakeRedis(b.Clock.Now)
		proofs := paytest.Node(t, b).Proofs
		f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
		prove := func(depth reconcile.Depth, want ...string) {
			t.Helper()
			r, err := b.Proof.ReconcileWith(ctx, "c1", f, depth)
			paytest.Must(t, err)
			paytest.Must(t, proofs.NoteProofs(ctx, []ledger.Proof{{Campaign: "c1", ProvedAt: 1, Final: r.Final}}))
			if is, err := proofs.Pending(ctx); err != nil || !slices.Equal(is, want) {
				t.Errorf("pending are %q, %v, want %q", is, err, want)
			}
		}
		prove(reconcile.Rows)
		b.CloseCampaign(t, "c1")
		f.Close("c1", 0)
		b.SettleAll(t, f, 0)
		_, err := b.Update(ctx, "c1", func(c *rain.Campaign) error { c.Drained = true; return nil })
		paytest.Must(t, err)
		prove(reconcile.Sums, "c1")
		b.Statement(t, "UPDATE balance SET amount = amount + 1 WHERE account_id = 'escrow:c1'")
		prove(reconcile.Rows, "c1")
		b.Statement(t, "UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:c1'")
		prove(reconcile.Rows)
	})
}
