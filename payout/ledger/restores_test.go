package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestARestoreHoldsWithdrawals: no withdrawal is sent until the payments are entered. Each payment is booked once,
// and a contradicting one is refused.
func TestARestoreHoldsWithdrawals(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		restores := paytest.Node(t, b).Restores
		b.Rich(t, "u", 100)
		b.MustWithdraw(t, "sent", "u", 10)
		b.LeaseOne(t)
		b.MustWithdraw(t, "asked", "u", 10)
		testenv.WantErr(t, restores.End(ctx, "ann", "nothing"), ledger.ErrNoRestore, "the end of no restore")
		testenv.Must(t, restores.Begin(ctx, "ann", "of last night"))
		is, err := restores.Newest(ctx)
		if err != nil || !is.Open || is.At == 0 {
			t.Fatalf("%+v, %v", is, err)
		}
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "new", "u", 10)), ledger.ErrWithdrawalsHeld,
			"a withdrawal meanwhile")
		testenv.Must(t, paytest.Err3(b.Withdraw(ctx, "asked", "u", 10)))
		b.Clock.Add(time.Hour.Milliseconds())
		if due, err := b.LeaseDue(ctx, paytest.Bank, 10, time.Minute); err != nil || len(due) > 0 {
			t.Errorf("sent meanwhile: %+v, %v", due, err)
		}
		for range 2 {
			for _, id := range []string{"sent", "asked", "unknown"} {
				testenv.WantErr(t, testenv.Err(restores.Enter(ctx, ledger.Payment{Withdrawal: id, User: "u", Amount: 10,
					Receiver: paytest.Bank, Reference: "r " + id})), nil, id)
			}
		}
		for why, p := range map[string]ledger.Payment{
			"another's":            {Withdrawal: "sent", User: "v", Amount: 10, Receiver: paytest.Bank},
			"another amount":       {Withdrawal: "sent", User: "u", Amount: 11, Receiver: paytest.Bank},
			"another receiver":     {Withdrawal: "sent", User: "u", Amount: 10, Receiver: "thief"},
			"unknown, by nobody":   {Withdrawal: "unknown 2", User: "u", Amount: 10},
			"more than there is":   {Withdrawal: "unknown 2", User: "u", Amount: 1000, Receiver: paytest.Bank},
			"of an unknown player": {Withdrawal: "unknown 2", User: "nobody", Amount: 1, Receiver: paytest.Bank},
		} {
			testenv.WantFail(t, testenv.Err(restores.Enter(ctx, p)), fmt.Sprintf("a payment that is %s was entered",
				why))
		}
		b.WantBalance(t, booking.UserAccount("u"), 70)
		b.WantBalance(t, booking.ClearingAccount("u"), 0)
		testenv.Must(t, restores.End(ctx, "ann", "entered"))
		if is, err := restores.Newest(ctx); err != nil || is.Open || is.At == 0 {
			t.Errorf("%+v, %v", is, err)
		}
		b.MustWithdraw(t, "new", "u", 70)
		testenv.Got(b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)).Len(t, 1, "sent afterwards")
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM audit WHERE action LIKE 'restore.%' AND actor = 'ann'"), 2,
			"lines of the audit")
	})
}

// TestWhatWasRefusedIsNotEntered: the player has the money back, so an operator must decide.
func TestWhatWasRefusedIsNotEntered(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u", 100)
		b.MustWithdraw(t, "w", "u", 10)
		testenv.Must(t, b.RecordRefused(ctx, b.LeaseOne(t), "no"))
		restores := paytest.Node(t, b).Restores
		testenv.Must(t, restores.Begin(ctx, "ann", "again"))
		_, err := restores.Enter(ctx, ledger.Payment{Withdrawal: "w", User: "u", Amount: 10, Receiver: paytest.Bank})
		if !errors.Is(err, ledger.ErrPaidTwice) {
			t.Errorf("%v", err)
		}
		b.WantBalance(t, booking.UserAccount("u"), 100)
	})
}

// TestPendingProofs: a campaign is pending from its draining until every row was read without a finding.
func TestPendingProofs(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		f := paytest.NewFakeRedis(b.Clock.Now)
		proofs := paytest.Node(t, b).Proofs
		f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
		prove := func(depth reconcile.Depth, want ...string) {
			t.Helper()
			r := testenv.Got(b.Proof.ReconcileCampaign(ctx, "c1", f, depth)).Must(t)
			testenv.Must(t, proofs.NoteProofs(ctx, []ledger.Proof{{Campaign: "c1", ProvedAt: 1, Final: r.Final}}))
			if is, err := proofs.Pending(ctx); err != nil || !slices.Equal(is, want) {
				t.Errorf("pending are %q, %v, want %q", is, err, want)
			}
		}
		prove(reconcile.Rows)
		b.CloseCampaign(t, "c1")
		f.Close("c1", 0)
		b.SettleAll(t, f, 0)
		b.Drain(t, "c1")
		prove(reconcile.Sums, "c1")
		b.Statement(t, "UPDATE balance SET amount = amount + 1 WHERE account_id = 'escrow:c1'")
		prove(reconcile.Rows, "c1")
		b.Statement(t, "UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:c1'")
		prove(reconcile.Rows)
	})
}

// TestAnOperatorIsFasterThanAnEntry: a withdrawal that is held after it was read is not leased, so the payment is not
// booked.
func TestAnOperatorIsFasterThanAnEntry(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t) // SQLite has one writer
	ctx := t.Context()
	b.Rich(t, "u", 100)
	b.MustWithdraw(t, "w", "u", 10)
	restores := paytest.Node(t, b).Restores
	testenv.Must(t, restores.Begin(ctx, "ann", "of last night"))
	meanwhile(b, "UPDATE withdrawal SET state = ?, attempts = ?", 1, func() { testenv.Must(t, b.Hold(ctx, "w", ann)) })
	_, err := restores.Enter(ctx, ledger.Payment{Withdrawal: "w", User: "u", Amount: 10, Receiver: paytest.Bank})
	testenv.WantErr(t, err, ledger.ErrLeaseLost)
	b.WantWithdrawal(t, "w", ledger.WithdrawalHeld, 0)
	b.CheckBooks(t)
}
