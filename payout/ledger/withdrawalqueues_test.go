package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// TestTamperedWithdrawalsAreReadOnce: hundreds of withdrawals that somebody has changed by hand stand before an honest
// one. Who looks for it reads each of them once, and a page more of each queue with each page of them.
func TestTamperedWithdrawalsAreReadOnce(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		const tampered, limit, perRow = 200, 10, 12
		b.Rich(t, "u1", tampered+2)
		for n := range tampered {
			b.MustWithdraw(t, fmt.Sprintf("w%03d", n), "u1", 1)
		}
		b.MustWithdraw(t, "honest", "u1", 1)
		b.Statement(t, "UPDATE withdrawal SET reference = 'by hand' WHERE id <> 'honest'")
		b.Statement(t, "UPDATE withdrawal SET next_at = 1 WHERE id < 'w100' AND id <> 'honest'") // all at once
		read := 0
		b.DB.Heard = func(text string, args []any) {
			if strings.Contains(text, " FROM withdrawal WHERE state = ?") {
				read += args[len(args)-1].(int) // what it is limited to
			}
		}
		few := func(what, id string, is []ledger.Withdrawal, err error) {
			t.Helper()
			if err != nil || len(is) != 1 || is[0].ID != id {
				t.Fatalf("%s: %+v, %v", what, is, err)
			}
			if read > tampered*perRow {
				t.Errorf("%s: %d rows are asked for because of %d", what, read, tampered)
			}
			read = 0
		}
		taken, err := b.LeaseDue(ctx, paytest.Bank, limit, time.Minute)
		few("the last one is leased", "honest", taken, err)
		b.MustWithdraw(t, "w050-1", "u1", 1)
		b.Statement(t, "UPDATE withdrawal SET next_at = 1 WHERE id = 'w050-1'")
		taken, err = b.LeaseDue(ctx, paytest.Bank, limit, time.Minute)
		few("one between others of the same moment is leased", "w050-1", taken, err)
		paytest.Must(t, b.RecordPaid(ctx, taken[0], "x"))

		b.Clock.Add(time.Hour.Milliseconds())
		b.Statement(t, "UPDATE withdrawal SET state = 'sent', receiver = '"+paytest.Bank+"' WHERE "+
			"state = 'requested'")
		buried, err := b.BuryStrays(ctx, "another bank", limit)
		few("the last one is buried", "honest", buried, err)
	})
}
