package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// forgePayout pays a packet of c1 worth 10 to u by edits, with all rows, as if an entry of this time had won it.
func forgePayout(t testing.TB, b *paytest.Books, packet int, ms int64) {
	t.Helper()
	id := 900 + packet
	change(t, b, fmt.Sprintf("INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) VALUES (%[1]d, 'pay', "+
		"'pay:%[1]d', %[3]d, x'00', x'00'); "+
		"INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (%[1]d, 0, 'escrow:c1', -10), "+
		"(%[1]d, 1, 'user:u', 10); "+
		"UPDATE balance SET amount = amount - 10 WHERE account_id = 'escrow:c1'; "+
		"UPDATE balance SET amount = amount + 10 WHERE account_id = 'user:u'; "+
		"UPDATE campaign_tally SET paid = paid + 1, amount_paid = amount_paid + 10 WHERE campaign_id = 'c1'; "+
		"UPDATE winner SET wins = wins + 1, amount = amount + 10 WHERE user_id = 'u'; "+
		"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, entry_seq, "+
		"settled_at, txn_id) VALUES ('c1', %[2]d, 'c1-%[2]d', 'u', 10, 'settled', '7.%[2]d', 0, %[3]d, 0, %[3]d, "+
		"%[1]d)",
		id, packet, ms))
}

// TestAPayoutFromTheFuture: a row after the snapshot is left out only up to the shard's newest entry.
func TestAPayoutFromTheFuture(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, _ := b.Stocked(t, "c1", rain.Spec{Budget: 1000, Packets: 100})
		f.Win("c1", 0, "u")
		b.SettleAll(t, f, 0)
		forgePayout(t, b, 50, b.Clock.Now()+1_000_000)
		for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows} {
			wantNamed(t, testenv.Got(b.Proof.ReconcileCampaign(t.Context(), "c1", f, depth)).Must(t),
				"payout of packet 50 ",
				"has ever written")
		}
	})
}

// TestAPayoutFromBetween has a time between the snapshot and now, as a true one could have: the next reconciliation
// names it.
func TestAPayoutFromBetween(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 1000, Packets: 100})
		f.Win("c1", 0, "u")
		b.SettleAll(t, f, 0)
		before := f.Snapshots(c)
		between := b.Clock.Now()
		f.Win("c1", 0, "u")
		b.SettleAll(t, f, 0)
		if r := b.Prove(t, c, before); !r.Balanced || r.Later != 1 {
			t.Errorf("without a forgery: %+v", r)
		}
		forgePayout(t, b, 50, between)
		testenv.Equal(t, b.Prove(t, c, before).Later, 2, "payouts are later")
		wantNamed(t, b.Prove(t, c, f), "payout of packet 50 ") // the next proof
	})
}

// TestAPacketOfTheOtherLaneIsFound by each proof: a guest has a player's packet, a player has a guest's, or a row moves
// stock between the lanes.
func TestAPacketOfTheOtherLaneIsFound(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2, GuestsShare: 400_000})
		f := paytest.NewFakeRedis(b.Clock.Now, c)
		f.Win("c1", 0, "p")
		f.Win("c1", 1, "g")
		for shard := range c.Shards {
			b.MustPost(t, f.Entries(paytest.FakeKey{Campaign: "c1", Shard: shard})...)
		}
		findings := func() string {
			var all []string
			for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows} {
				r := testenv.Got(b.Proof.ReconcileCampaign(t.Context(), "c1", f, depth)).Must(t)
				all = append(all, strings.Join(r.Findings, "\n"))
			}
			return strings.Join(all, "\n")
		}
		testenv.Equal(t, findings(), "\n", "untouched")
		for name, is := range map[string]struct{ do, undo, want string }{
			"a guest with a player's packet": {
				"UPDATE payout SET packet = 4, claim = 'c1-4' WHERE packet = 6",
				"UPDATE payout SET packet = 6, claim = 'c1-6' WHERE packet = 4", "not of the player's lane"},
			"a player with a guest's packet": {
				"UPDATE payout SET packet = 9, claim = 'c1-9' WHERE packet = 0",
				"UPDATE payout SET packet = 0, claim = 'c1-0' WHERE packet = 9", "not of the player's lane"},
			"a move": {
				"INSERT INTO move (id, campaign_id, from_shard, to_shard, numbers, packets, from_number, epoch, " +
					"created_at) VALUES ('m', 'c1', 0, 1, '3-3', 1, 1, 0, 1)",
				"DELETE FROM move", "one shard is the guests', the other one the players'"},
		} {
			testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), is.do)))
			if found := findings(); strings.Count(found, is.want) != 2 {
				t.Errorf("%s: %s", name, found)
			}
			testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), is.undo)))
		}
	})
}
