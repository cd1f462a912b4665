package ledger_test

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestAbandon(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		paytest.Must(t, testenv.Err(b.Deposit(ctx, "acme", "r", 100)))
		paytest.Must(t, b.CreateCampaign(ctx, paytest.FullCampaign("c1")))
		for range 2 {
			c, err := b.Abandon(ctx, "c1")
			if err != nil || c.Status != rain.Closed || c.Drained || c.Revision != 2 {
				t.Fatalf("%+v, %v", c, err)
			}
			b.WantBalance(t, booking.SponsorAccount("acme"), 100)
			b.WantBalance(t, booking.EscrowAccount("c1"), 0)
			if cleared, err := b.Cleared(ctx, "c1"); err != nil || !cleared {
				t.Errorf("cleared: %v, %v", cleared, err)
			}
			if n, amount, err := b.GivenBack(ctx, "c1"); err != nil || n != int64(c.Packets) || amount != c.Budget {
				t.Errorf("%d packets and %d went back, %v", n, amount, err)
			}
		}
		// What had been stocked is closed in Redis too; the money is back already.
		posted := b.MustPost(t, paytest.ReclaimEntry(0, 1, rain.Range{First: 0, Last: 1}))
		if len(posted.Dead) > 0 {
			t.Errorf("%+v", posted.Dead)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 100)
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 5, Packets: 5})
		testenv.WantErr(t, testenv.Err(b.Abandon(ctx, "c2")), ledger.ErrCampaignStocked)
		testenv.WantErr(t, testenv.Err(b.Abandon(ctx, "c9")), posting.ErrUnknownCampaign)
		b.CheckBooks(t)
	})
}
