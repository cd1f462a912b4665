package reconcile_test

import (
	"testing"

	"redrain/payout/paytest"
)

// TestTheServersUserMayDoAllThatTheLedgerDoes: the rights of docs/rights.sql are enough for all operations. Campaigns
// are drained, wins are held and released, players are sanctioned, lists are imported, orders are approved, restores
// begin and end, and roots are taken.
func TestTheServersUserMayDoAllThatTheLedgerDoes(t *testing.T) {
	t.Parallel()
	b, _ := paytest.OnRights(t)
	f := paytest.NewFakeRedis(b.Clock.Now)
	fillCampaigns(t, b, f)
	fillDrained(t, b, f)
	fillWithdrawals(t, b)
	fillHeld(t, b, f)
	fillUpkeep(t, b)
	askLists(t, b)
	askOrders(t, b)
	askLetters(t, b)
	askRebuild(t, b)
	askUpkeep(t, b)
	paytest.HashAll(t, b.DB)
	root, err := paytest.Node(t, b).Roots.Take(t.Context())
	if err != nil || root == nil {
		t.Errorf("%+v, %v", root, err)
	}
}
