package reconcile_test

import (
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestAPacketOfTheOtherLaneIsFound: by each proof, where a guest is paid a player's packet, or a player a guest's, and
// where a row moves stock from one lane to the other.
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
				r := paytest.Got(b.Proof.ReconcileWith(t.Context(), "c1", f, depth)).Must(t)
				all = append(all, strings.Join(r.Findings, "\n"))
			}
			return strings.Join(all, "\n")
		}
		paytest.Want(t, findings(), "\n", "untouched")
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
			paytest.Must(t, testenv.Err(b.DB.Exec(t.Context(), is.do)))
			if found := findings(); strings.Count(found, is.want) != 2 {
				t.Errorf("%s: %s", name, found)
			}
			paytest.Must(t, testenv.Err(b.DB.Exec(t.Context(), is.undo)))
		}
	})
}
