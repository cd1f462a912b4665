package ledger_test

import (
	"errors"
	"testing"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/history"
	"redrain/payout/paytest"
)

// TestNothingLeavesByARaisedBalance: somebody has written into the database that a player, or a sponsor, has more.
// Until that is put right neither can spend anything, and nobody else is kept from it.
func TestNothingLeavesByARaisedBalance(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		b.Rich(t, "u2", 100)
		loading := b.LoadingCampaign(t, "c9")
		b.Statement(t, "UPDATE balance SET amount = amount + 500 WHERE account_id IN ('user:u1', 'sponsor:acme')")
		if _, _, err := b.Withdraw(ctx, "w1", "u1", 60); !errors.Is(err, history.ErrTampered) {
			t.Errorf("withdrawn: %v", err)
		}
		if err := b.CreateCampaign(ctx, loading); !errors.Is(err, history.ErrTampered) {
			t.Errorf("funded: %v", err)
		}
		b.MustWithdraw(t, "w2", "u2", 60)
		b.WantBalance(t, booking.UserAccount("u1"), 600)
		b.Statement(t, "UPDATE balance SET amount = amount - 500 WHERE account_id IN ('user:u1', 'sponsor:acme')")
		b.MustWithdraw(t, "w1", "u1", 60)
		paytest.Must(t, b.CreateCampaign(ctx, loading))
		b.WantBalance(t, booking.UserAccount("u1"), 40)
		b.CheckBooks(t)
	})
}
