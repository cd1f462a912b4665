package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// A letter about one packet waits for its money, also where the player was paid as much for another.
func TestALetterHoldsTheMoneyOfItsOwnPacket(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 20, Packets: 2})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		allow := b.Refuse(t, "u1")
		tried, err := b.Attempt(t.Context(), paytest.Entry("c1", 2, paytest.Win("u1", 1, 10)), errors.New("refused"), 1)
		if err != nil || !tried.GivenUp || len(tried.Dead) != 1 {
			t.Fatalf("%+v, %v", tried, err)
		}
		allow()
		if cleared, err := b.Cleared(t.Context(), c.ID); !cleared || err != nil {
			t.Errorf("the escrow holds what the letter waits for, and nothing else: %v, %v", cleared, err)
		}
		if emptied, err := b.Emptied(t.Context(), c.ID); emptied || err != nil {
			t.Errorf("the escrow is empty: %v, %v", emptied, err)
		}
	})
}

// The same key stands for the same movement: another amount, account or number of lines is refused, and nothing moves.
func TestBookOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		deposit := func(key, sponsor string, amount rain.Money) booking.Txn {
			return booking.Move(booking.KindDeposit, key, booking.World, booking.SponsorAccount(sponsor), amount)
		}
		first := deposit("k", "a", 10)
		third := first
		third.Lines = append(slices.Clone(first.Lines), booking.Line{Account: booking.SponsorAccount("b")})
		for i, c := range []struct {
			txn    booking.Txn
			booked bool
			fails  error
		}{
			{first, true, nil}, {first, false, nil},
			{deposit("k", "a", 11), false, booking.ErrKeyReused},
			{deposit("k", "b", 10), false, booking.ErrKeyReused},
			{third, false, booking.ErrKeyReused},
			{deposit("l", "a", 10), true, nil},
		} {
			called := false
			err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				rows := func(booking.Booked) error { called = true; return nil }
				booked, err := booking.BookOnce(ctx, tx, 1, c.txn, rows)
				if booked != c.booked {
					t.Errorf("%d: booked %v", i, booked)
				}
				return err
			})
			if !errors.Is(err, c.fails) || called != c.booked {
				t.Errorf("%d: %v, its rows %v", i, err, called)
			}
		}
		b.WantBalance(t, booking.SponsorAccount("a"), 20)
		b.CheckBooks(t)
	})
}
