package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestWithdraw(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		w, balance, err := b.Withdraw(ctx, "w1", "u1", 60)
		if err != nil || balance != 40 || w.State != ledger.WithdrawalRequested || w.Amount != 60 || w.User != "u1" ||
			w.CreatedAt == 0 {
			t.Fatalf("%+v, %d, %v", w, balance, err)
		}
		// The same request again moves nothing, whatever the state of the first.
		sent := b.LeaseOne(t)
		for range 2 {
			again, balance, err := b.Withdraw(ctx, "w1", "u1", 60)
			if err != nil || balance != 40 || again.ID != "w1" || again.CreatedAt != w.CreatedAt {
				t.Errorf("again: %+v, %d, %v", again, balance, err)
			}
			testenv.Must(t, b.RecordPaid(ctx, sent, "bank-1"))
		}
		if again, _, err := b.Withdraw(ctx, "w1", "u1", 60); err != nil || again.State != ledger.WithdrawalPaid ||
			again.Reference != "bank-1" {
			t.Errorf("a paid one again: %+v, %v", again, err)
		}
		for what, c := range map[string]struct {
			id, user string
			amount   rain.Money
			want     error
		}{
			"another amount":       {"w1", "u1", 61, ledger.ErrIdempotencyUnequal},
			"another player":       {"w1", "u2", 60, ledger.ErrIdempotencyUnequal},
			"more than there is":   {"w2", "u1", 41, booking.ErrInsufficientFunds},
			"a player without any": {"w3", "nobody", 1, booking.ErrInsufficientFunds},
			"nothing":              {"w4", "u1", 0, ledger.ErrInvalidAmount},
			"less than nothing":    {"w5", "u1", -5, ledger.ErrInvalidAmount},
			"more than any budget": {"w6", "u1", rain.MaxBudget + 1, ledger.ErrInvalidAmount},
		} {
			testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, c.id, c.user, c.amount)), c.want, what)
			if _, err := b.Withdrawal(ctx, c.id); c.id != "w1" && !errors.Is(err, ledger.ErrUnknownWithdrawal) {
				t.Errorf("%s: a refused request has left something: %v", what, err)
			}
		}
		testenv.WantFail(t, paytest.Err3(b.Withdraw(ctx, "w7", "a\nb", 1)), "a user id that is none is taken")
		// All that is left can be taken; then the account is empty.
		b.MustWithdraw(t, "w8", "u1", 40)
		b.WantBalance(t, booking.UserAccount("u1"), 0)
	})
}

// TestWithdrawalsNeverOverdraw: concurrent withdrawals sum to more than the balance.
func TestWithdrawalsNeverOverdraw(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const players, each, amount = 3, 24, 10
		for p := range players {
			b.Rich(t, fmt.Sprintf("u%d", p), 105) // for ten, and a rest
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := map[string]int{}
		for i := range players * each {
			user, id := fmt.Sprintf("u%d", i%players), fmt.Sprintf("w%d", i)
			for range 2 { // and each request comes twice
				wg.Go(func() {
					_, balance, err := b.Withdraw(t.Context(), id, user, amount)
					switch {
					case err == nil && (balance < 0 || balance > 95):
						t.Errorf("%s is notified of %d", user, balance)
					case err == nil:
						mu.Lock()
						made[id]++
						mu.Unlock()
					case !errors.Is(err, booking.ErrInsufficientFunds):
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if len(made) != players*10 {
			t.Errorf("%d withdrawals, want %d", len(made), players*10)
		}
		for p := range players {
			b.WantBalance(t, booking.UserAccount(fmt.Sprintf("u%d", p)), 5)
		}
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM withdrawal"), players*10, "rows")
	})
}

// TestWithdrawalPages reads a list that grows at its head, and loses or repeats nothing.
func TestWithdrawalPages(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		for _, user := range []string{"u1", "u2"} {
			b.Rich(t, user, 100)
		}
		want := []string{}
		for i := range 7 {
			b.MustWithdraw(t, fmt.Sprintf("a%d", i), "u1", 1)
			b.MustWithdraw(t, fmt.Sprintf("b%d", i), "u2", 1)
			want = append([]string{fmt.Sprintf("a%d", i)}, want...)
		}
		var got []string
		paytest.Pages(t, func(cursor string) ([]ledger.Withdrawal, string, error) {
			list, next, err := b.ListWithdrawals(ctx, ledger.WithdrawalQuery{User: "u1", Limit: 3, After: cursor})
			for _, w := range list {
				got = append(got, w.ID)
			}
			b.MustWithdraw(t, fmt.Sprintf("late%d", len(got)), "u1", 1)
			return list, next, err
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		sent := testenv.Got(b.LeaseDue(ctx, paytest.Bank, 100, time.Minute)).Must(t)
		for _, w := range sent {
			switch w.ID {
			case "a3", "b2":
				testenv.Must(t, b.RecordPaid(ctx, w, ""))
			case "a5":
				testenv.Must(t, b.RecordRefused(ctx, w, "no"))
			case "b4", "a6":
				testenv.Must(t, b.RecordDead(ctx, w, "no answer"))
			}
		}
		for q, want := range map[ledger.WithdrawalQuery]int{
			{Limit: 100}: 17, {State: ledger.WithdrawalPaid, Limit: 100}: 2,
			{State: ledger.WithdrawalPaid, User: "u2", Limit: 100}: 1,
			{State: ledger.WithdrawalFailed, Limit: 100}:           1,
			{State: ledger.WithdrawalPending, Limit: 100}:          14,
			{State: ledger.WithdrawalSent, Limit: 100}:             14,
			{State: ledger.WithdrawalRequested, Limit: 100}:        0,
			{State: ledger.WithdrawalDead, Limit: 100}:             2,
			{State: ledger.WithdrawalDead, User: "u1", Limit: 100}: 1,
			{User: "nobody", Limit: 100}:                           0,
		} {
			if list, next, err := b.ListWithdrawals(ctx, q); err != nil || len(list) != want || next != "" {
				t.Errorf("%+v: %d, %q, %v", q, len(list), next, err)
			}
		}
		testenv.WantErr(t, paytest.Err3(b.ListWithdrawals(ctx, ledger.WithdrawalQuery{After: "x", Limit: 1})),
			ledger.ErrBadCursor)
		testenv.Got(b.CountPending(ctx)).Want(t, 14, "pending")
	})
}
