package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
)

// takenBack takes away the newest audit record, sets the head of its chain back, and so leaves a chain that is whole.
var takenBack = []string{
	"CREATE TABLE gone AS SELECT id, stripe, link FROM audit WHERE id = (SELECT MAX(id) FROM audit WHERE link > 1)",
	"UPDATE chain_head SET links = links - 1, hash = (SELECT a.hash FROM audit a, gone g " +
		"WHERE a.stripe = g.stripe AND a.link = g.link - 1) " +
		"WHERE book = 'audit' AND stripe = (SELECT stripe FROM gone)",
	"DELETE FROM audit WHERE id = (SELECT id FROM gone)",
}

// TestLinksThatAreTakenBack takes the newest link of a chain away together with its head, which nothing in the database
// tells. Whoever has seen the link does, also when others have come in its place.
func TestLinksThatAreTakenBack(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			hot := fullLedger(t, b)
			prove := func() []string {
				all, err := b.Proof.ReconcileRecent(t.Context(), hot, nil)
				if err != nil {
					t.Fatal(err)
				}
				return all.Findings
			}
			deposit := func(reference string) {
				if _, err := b.Deposit(paytest.As(t, "sponsor.deposit"), "acme", reference, 1); err != nil {
					t.Fatal(err)
				}
			}
			before := prove()
			deposit("another")
			if found := prove(); !slices.Equal(found, before) {
				t.Errorf("untouched: %q", found)
			}
			for _, sql := range takenBack {
				change(t, b, sql)
			}
			named := func(found []string) bool {
				return slices.ContainsFunc(found, func(s string) bool {
					return strings.Contains(s, "what this process has seen before")
				})
			}
			if found := prove(); !named(found) {
				t.Errorf("taken back: %q", found)
			}
			deposit("one more")
			if found := prove(); !named(found) {
				t.Errorf("replaced: %q", found)
			}
			full, err := b.Proof.ReconcileFull(t.Context(), hot, reconcile.FullOptions{})
			if err != nil || !named(full.Findings) {
				t.Errorf("the full proof: %v, %q", err, full.Findings)
			}
		})
	}
}
