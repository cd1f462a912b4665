package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// carriedByHand are transactions of the kind carried that somebody adds who knows how hashes are made, each with what
// it is named by.
var carriedByHand = map[string]struct {
	sql   string
	named []string
}{
	"out of a live campaign": {booked("carried", "carried:zz:1", "escrow:live", "user:u1", 190),
		[]string{"no archive says so", "moved by transactions of kind carried in the escrow",
			"what is neither paid nor given back sums to"}},
	"with papers of a campaign that there is not": {booked("carried", "carried:zz:1", "escrow:live", "user:u1",
		190) + papersOf("zz", 900, 190),
		[]string{"archive zz is of no campaign that is over", "what is neither paid nor given back sums to"}},
	"with papers of the live campaign": {booked("carried", "carried:live:1", "escrow:live", "user:u1", 190) +
		papersOf("live", 900, 190),
		[]string{"archive live is of no campaign that is over"}},
	"in the name of a campaign that is over": {booked("carried", "carried:c3:1", "escrow:live", "user:u1", 190) +
		papersOf("c3", 900, 190), []string{"it moves 0 out of the escrow"}},
	"as another step of an archive": {booked("carried", "carried:c5:2", "escrow:live", "user:u1", 190) +
		"INSERT INTO archive_step (archive, number, at, txn_id, links, digest, payouts, amount_paid, packets_back, " +
		"amount_back) VALUES ('c5', 2, 1, 900, 0, 'x', 0, 190, 0, 0)", []string{"it moves 0 out of the escrow"}},
	"of another kind": {"UPDATE archive_step SET txn_id = (SELECT id FROM txn WHERE idem_key = 'fund:c5') WHERE " +
		"archive = 'c5'", []string{"says that it carries what it has removed", "no archive says so"}},
}

// papersOf are the papers of an archive of one step, which says that a transaction carries what was paid.
func papersOf(archive string, txn, paid int) string {
	return fmt.Sprintf("INSERT INTO archive_step (archive, number, at, txn_id, links, digest, payouts, amount_paid, "+
		"packets_back, amount_back) VALUES ('%[1]s', 1, 1, %[2]d, 0, 'x', 1, %[3]d, 0, 0); INSERT INTO archive (id, "+
		"file, links, payouts, amount_paid, packets_back, amount_back, actor, began_at, finished_at) VALUES "+
		"('%[1]s', 'x', 0, 1, %[3]d, 0, 0, 'ann', 1, 1)", archive, txn, paid)
}

// chainByHand puts a transaction behind the end of a chain, with the right hash.
func chainByHand(t testing.TB, b *paytest.Books, id int64) {
	t.Helper()
	ctx := t.Context()
	var stripe, links int64
	var hash []byte
	_, err := b.DB.First(ctx, []any{&stripe, &links, &hash}, "SELECT stripe, links, hash FROM chain_head "+
		"WHERE book = 'txn' ORDER BY stripe LIMIT 1")
	paytest.Must(t, err)
	_, err = b.DB.Exec(ctx, "UPDATE txn SET stripe = ?, link = ?, hash = ? WHERE id = ?", stripe, links+1, hash, id)
	paytest.Must(t, err)
	is, err := chain.TxnLinks(ctx, b.DB, []int64{id})
	paytest.Must(t, err)
	end := chain.LinkHash(chain.Hash(hash), is[id].Content)
	_, err = b.DB.Exec(ctx, "UPDATE txn SET hash = ? WHERE id = ?", end[:], id)
	paytest.Must(t, err)
	_, err = b.DB.Exec(ctx, "UPDATE chain_head SET links = ?, hash = ? WHERE book = 'txn' AND stripe = ?", links+1,
		end[:], stripe)
	paytest.Must(t, err)
}

// TestNothingIsCarriedByHand adds transactions of the kind carried, chained as the ledger does it. Each proof names
// them: of everything, of what is recent, and of the campaign out of whose escrow the money is, however it looks at it.
func TestNothingIsCarriedByHand(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		for what, forgery := range carriedByHand {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				f := fullLedger(t, b)
				f.Open(b.OpenCampaign(t, "live", rain.Spec{Budget: 200, Packets: 20}))
				closeAll(t, b, f)
				for _, recent := range []bool{true, false} {
					if found := (&columnLedger{t: t, b: b, f: f, recent: recent}).prove(); slices.ContainsFunc(found,
						ofWhatIsForged) {
						t.Fatalf("untouched: %q", found)
					}
				}
				change(t, b, strings.TrimSuffix(strings.TrimSpace(forgery.sql), ";"))
				if strings.Contains(forgery.sql, "900") {
					chainByHand(t, b, 900)
				}
				for _, recent := range []bool{true, false} {
					found := (&columnLedger{t: t, b: b, f: f, recent: recent}).prove()
					for _, named := range forgery.named {
						closed := recent && !strings.Contains(forgery.sql, "900")
						if !closed && !names(found, named) {
							t.Errorf("recent %v: %q is not named in %q", recent, named, found)
						}
					}
				}
				if papers := strings.Contains(forgery.sql, "archive_step"); papers {
					return
				}
				for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows, reconcile.Chained} {
					r, err := b.Proof.ReconcileWith(t.Context(), "live", f, depth)
					if err != nil || r.Balanced || r.Difference != -190 {
						t.Errorf("depth %d: %+v, %v", depth, r, err)
					}
				}
			})
		}
	}
}

func ofWhatIsForged(finding string) bool {
	return strings.Contains(finding, "live") || strings.Contains(finding, "c5")
}
