package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// A read of two tables says where one of them cannot be read, and gives no half of an answer.
func TestAReadSaysThatATableIsAway(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	ctx := t.Context()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
	list := func(q ledger.ClaimQuery) error { _, _, err := b.ListClaims(ctx, q); return err }
	reads := map[string]func() error{
		"claims of a player":   func() error { return list(ledger.ClaimQuery{User: "u1", Limit: 10}) },
		"claims of a campaign": func() error { return list(ledger.ClaimQuery{Campaign: "c1", Limit: 10}) },
		"claims on packets":    func() error { _, err := b.ClaimsOn(ctx, "c1", []int{0}); return err },
		"states of claims":     func() error { _, err := b.ClaimStates(ctx, "u1", []string{"c1-0"}); return err },
		"what is cleared":      func() error { _, err := b.Cleared(ctx, "c1"); return err },
	}
	for _, table := range []string{"payout", "dead_letter"} {
		b.Statement(t, "ALTER TABLE "+table+" RENAME TO elsewhere")
		for what, read := range reads {
			if err := read(); err == nil {
				t.Errorf("%s, without %s: no error", what, table)
			}
		}
		b.Statement(t, "ALTER TABLE elsewhere RENAME TO "+table)
		for what, read := range reads {
			if err := read(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// A letter about one packet waits for its money, also where the player was paid as much for another.
func TestALetterHoldsTheMoneyOfItsOwnPacket(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
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

// A budget is at least one minor unit.
func TestACampaignHasABudget(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for budget, fails := range map[rain.Money]bool{-1: true, 0: true, 1: false} {
		c := b.LoadingCampaign(t, "c1")
		c.Budget = budget
		if err := b.CreateCampaign(t.Context(), c); (err != nil) != fails {
			t.Errorf("a budget of %d: %v", budget, err)
		}
	}
}

// What has come to an end, or waits for a person, is not changed by a try that hears of it late.
func TestALateTryChangesNothing(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		b.MustWithdraw(t, "paid", "u1", 40)
		paid := b.LeaseOne(t)
		paytest.Must(t, b.RecordPaid(ctx, paid, "theirs"))
		if err := b.RecordRetry(ctx, paid, time.Minute, "late"); err != nil && !errors.Is(err, ledger.ErrLeaseLost) {
			t.Error(err)
		}
		if w := b.WantWithdrawal(t, "paid", ledger.WithdrawalPaid, 1); w.LastError != "" || w.NextAt != paid.NextAt {
			t.Errorf("%+v", w)
		}
		b.MustWithdraw(t, "dead", "u1", 60)
		dead := b.LeaseOne(t)
		paytest.Must(t, b.RecordDead(ctx, dead, "unclear"))
		if err := b.RecordRefused(ctx, dead, "late"); !errors.Is(err, ledger.ErrLeaseLost) {
			t.Errorf("a dead one is refused: %v", err)
		}
		b.WantWithdrawal(t, "dead", ledger.WithdrawalSent, 1)
		b.WantBalance(t, booking.UserAccount("u1"), 0)
		b.CheckBooks(t)
	})
}

// What was answered longer ago than answers are kept is removed, and nothing else.
func TestExpiredAnswersAreRemoved(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	ctx := t.Context()
	for _, key := range []string{"old", "new"} {
		if _, err := b.Begin(ctx, key, nil); err != nil {
			t.Fatal(err)
		}
		paytest.Must(t, b.Finish(ctx, key, ledger.Answer{Status: 201}))
		b.Clock.Add(ledger.AnswerKept/2 + 1000)
	}
	if answer, err := b.Begin(ctx, "new", nil); answer == nil || err != nil {
		t.Errorf("%+v, %v", answer, err)
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM idempotency"); n != 1 {
		t.Errorf("%d answers are kept", n)
	}
}

// The pages of the audit log hang together also where its numbers have several digits.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for range 25 {
		paytest.Must(t, b.Audit(t.Context(), ledger.AuditRecord{Actor: "ann", Action: "looked"}))
	}
	seen := 0
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := b.ListAudit(t.Context(), cursor, 2)
		paytest.Must(t, err)
		seen += len(list)
		cursor = next
	}
	if seen != 25 {
		t.Errorf("%d records of 25", seen)
	}
}

// The same key stands for the same movement: another amount, account or number of lines is refused, and nothing moves.
func TestBookOnce(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
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
