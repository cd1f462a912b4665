package archive_test

import (
	"errors"
	"strings"
	"testing"

	"redrain/payout/archive"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

// carriedTo has the newest step carry to another what u1 has won, with right hashes, as somebody can who forges the
// removal.
func carriedTo(t *testing.T, b *paytest.Books, another string) {
	t.Helper()
	var id, stripe, link, amount int64
	_, err := b.DB.First(t.Context(), []any{&id, &stripe, &link, &amount}, "SELECT t.id, t.stripe, t.link, e.amount "+
		"FROM txn t JOIN entry e ON e.txn_id = t.id WHERE t.kind = 'carried' AND e.account_id = 'user:u1' "+
		"ORDER BY t.id DESC LIMIT 1")
	must(t, err)
	write := func(statement string, args ...any) {
		t.Helper()
		_, err := b.DB.Exec(t.Context(), statement, args...)
		must(t, err)
	}
	write("UPDATE entry SET account_id = ? WHERE account_id = 'user:u1' AND txn_id = ?", another, id)
	write("UPDATE balance SET amount = amount - ? WHERE account_id = 'user:u1'", amount)
	write("UPDATE balance SET amount = amount + ? WHERE account_id = ?", amount, another)

	var before []byte
	_, err = b.DB.First(t.Context(), []any{&before}, "SELECT hash FROM txn WHERE stripe = ? AND link = ? UNION "+
		"SELECT hash FROM chain_stub WHERE book = 'txn' AND stripe = ? AND link = ?", stripe, link-1, stripe, link-1)
	must(t, err)
	is, err := chain.TxnLinks(t.Context(), b.DB, []int64{id})
	must(t, err)
	end := chain.LinkHash(chain.Hash(before), is[id].Content)
	write("UPDATE txn SET hash = ? WHERE id = ?", end[:], id)
	write("UPDATE chain_head SET hash = ? WHERE book = 'txn' AND stripe = ?", end[:], stripe)
}

// wantDiffers wants a removal to say what was carried to whom.
func wantDiffers(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, archive.ErrDiffers) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %q", err, says)
	}
}

// TestWhatWasCarriedToAnother: no proof sees that a removal has carried to one player what another has won, as all its
// sums are right. Called again with the file, it says so.
func TestWhatWasCarriedToAnother(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		over(t, b, "c1", 12)
		f := read(t, exported(t, b, "c1"))
		a := archive.New(b.DB, b.Clock.Now)
		_, err := a.Campaign(t.Context(), "c1", f, "ann")
		must(t, err)
		carriedTo(t, b, "user:u0")
		clean(t, b, "carried to another")
		_, err = a.Campaign(t.Context(), "c1", f, "bob")
		wantDiffers(t, err, "user:u0 was carried 0.70, and has got 0.40 by the export; accounts that differ: 2")
	})
}

// TestARemovalThatGoesOnSeesWhatWasCarried: one that broke off does not end where a step before has carried to one
// player what another has won.
func TestARemovalThatGoesOnSeesWhatWasCarried(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	over(t, b, "c1", 12)
	f := read(t, exported(t, b, "c1"))
	killed := errors.New("killed")
	a := archive.New(b.DB, b.Clock.Now)
	a.Rows = 3
	a.Passed = func(point string) error {
		if point == "archive.step" {
			return killed
		}
		return nil
	}
	if _, err := a.Campaign(t.Context(), "c1", f, "ann"); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	carriedTo(t, b, "user:a") // who has won nothing
	a.Passed = nil
	p, err := a.Campaign(t.Context(), "c1", f, "ann")
	wantDiffers(t, err, "user:a was carried 0.10, and has got 0.00 by the export; accounts that differ: 2")
	if n := b.Count(t, "SELECT COUNT(*) FROM archive WHERE finished_at <> 0"); n != 0 || p.FinishedAt != 0 {
		t.Errorf("it has ended: %+v", p)
	}
}
