package reconcile_test

import (
	"testing"
	"time"

	"redrain/payout/paytest"
)

// askBehindTampered looks for withdrawals that are due, and for those of other receivers, behind one that somebody has
// changed by hand.
func askBehindTampered(t testing.TB, b *paytest.Books) {
	t.Helper()
	b.Statement(t, "UPDATE withdrawal SET state = 'sent', receiver = '"+paytest.Bank+"', next_at = 1 "+
		"WHERE id = 'o-held'")
	if taken, err := b.LeaseDue(t.Context(), paytest.Bank, 1, time.Minute); err != nil || len(taken) != 1 {
		t.Fatal(taken, err)
	}
	b.Clock.Add(time.Hour.Milliseconds())
	if strays, err := b.BuryStrays(t.Context(), "another bank", 1); err != nil || len(strays) == 0 {
		t.Fatal(strays, err)
	}
	b.Statement(t, "UPDATE withdrawal SET state = 'requested', receiver = '' WHERE id = 'o-held'")
}
