package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// Begin reads a key with its lock: if another node takes up the request at that moment, it is not carried out twice.
// SQLite has one writer, so the two meet on MySQL only.
func TestIdempotencyKeyIsReadUnderItsLock(t *testing.T) {
	b := paytest.OnMySQL(t)
	testenv.Must(t, testenv.Err(b.Begin(t.Context(), "k", []byte("body"))))
	b.Clock.Add(ledger.RequestLease) // the first try was aborted
	begun := make(chan error, 1)
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		// The other node has the key: as Begin does, in an uncommitted transaction.
		_, err := tx.Exec(ctx, "UPDATE idempotency SET expires_at = ?", b.Clock.Load()+ledger.RequestLease)
		if err != nil {
			return err
		}
		go func() {
			answer, err := b.Begin(context.Background(), "k", []byte("body"))
			if answer != nil {
				err = errors.New("it is answered")
			}
			begun <- err
		}()
		testenv.Eventually(t, 5*time.Second, "this node waits for the key", func() bool {
			return b.Waits(t, "GLOBAL_STATUS", "variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0")
		})
		return nil
	})
	testenv.Must(t, err)
	if err := <-begun; !errors.Is(err, ledger.ErrIdempotencyBusy) {
		t.Errorf("a request that another node works on: %v, want %v", err, ledger.ErrIdempotencyBusy)
	}
}

// A dead letter stays open if its packet is paid to another player. Resolving it would drop a claim without a trace.
func TestLetterIsResolvedForItsOwnPlayerOnly(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("paid", 0, 10), paytest.Win("same", 1, 10)))
		posted := b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("other", 0, 10), paytest.Win("third", 1, 10)))
		testenv.Must(t, b.RefreshMetrics(t.Context()))
		if n := b.CountDead(t); n != 2 || len(posted.Dead) != 2 {
			t.Errorf("%d dead letters wait of %+v, want both", n, posted.Dead)
		}
		b.WantBalance(t, booking.UserAccount("other"), 0)
	})
}

// A database error in the middle of a retry is returned, together with the dead letters that were settled before.
func TestRetrySaysTheDatabasesError(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		for n := range 2 { // copies of a win of an unknown campaign, in two entries
			b.MustPost(t, paytest.Entry("c1", n+1, paytest.Win("u1", 0, 10)))
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		books := ledger.New(b.DB, func() int64 {
			if b.CountDead(t) == 1 { // the first is committed, and the second in flight
				cancel()
			}
			return b.Clock.Now()
		}, rain.NewAmountsCache())
		settled, err := paytest.Retry(ctx, books.Approvals, "c1-0")
		if len(settled) != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("settled %+v, error %v, want one settlement and the error", settled, err)
		}
		testenv.Got(b.Retry(t.Context(), "c1-0")).Len(t, 1, "the other letter")
		b.WantBalance(t, booking.UserAccount("u1"), 10)
	})
}

// A dead letter keeps the money of its own packet, even if the player was paid the same amount for another.
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
		testenv.Got(b.Cleared(t.Context(), c.ID)).Want(t, true,
			"the escrow holds the dead letter's money only")
		testenv.Got(b.Emptied(t.Context(), c.ID)).Want(t, false, "the escrow is empty")
	})
}

// A key belongs to one movement: another amount, account or number of lines is refused, and no money moves.
func TestBookOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
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
	})
}
