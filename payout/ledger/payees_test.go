package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// wechat returns a token's claim about a payee.
func wechat(payee string) map[string]string { return map[string]string{"wechat": payee} }

// TestPayeesChangeByNewerTokens: only a token that was issued later changes a payee, and an app's payee is apart from
// another's. The old rows stay.
func TestPayeesChangeByNewerTokens(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		payees := paytest.Node(t, b).Payees
		for i, c := range []struct {
			claim  map[string]string
			issued int64
			want   string
		}{
			{nil, 9, ""},
			{map[string]string{"bank": "DE02"}, 9, ""},
			{wechat("wx1:oAnn"), 0, "wechat:wx1:oAnn"},
			{wechat("wx1:oMallory"), 0, "wechat:wx1:oAnn"},
			{wechat("wx1:oNew"), 20, "wechat:wx1:oNew"},
			{wechat("wx1:oAnn"), 10, "wechat:wx1:oNew"},
			{wechat("wx1:oAnn"), 20, "wechat:wx1:oNew"},
			{wechat("wx2:oOther"), 5, "wechat:wx1:oNew wechat:wx2:oOther"},
			{map[string]string{"alipay": "2088101117955611"}, 5,
				"alipay:2088101117955611 wechat:wx1:oNew wechat:wx2:oOther"},
		} {
			testenv.Must(t, payees.Link(t.Context(), "u1", c.claim, c.issued))
			var got []string
			for _, p := range testenv.Got(payees.Of(t.Context(), "u1")).Must(t) {
				got = append(got, p.String())
			}
			testenv.Equal(t, strings.Join(got, " "), c.want, "payees after token %d", i)
		}
		testenv.Got(payees.Of(t.Context(), "u2")).Len(t, 0, "another player's payees")
		testenv.Equal(t, countRows(t, b, "payee"), 4, "rows of the history")
	})
}

func countRows(t *testing.T, b *paytest.Books, table string) (n int) {
	t.Helper()
	testenv.Must(t, testenv.Err(b.DB.First(t.Context(), []any{&n}, "SELECT COUNT(*) FROM "+table)))
	return n
}

func TestMalformedPayeesAreRefused(t *testing.T) {
	t.Parallel()
	payees := paytest.Node(t, paytest.OnSQLite(t)).Payees
	for _, claim := range []map[string]string{wechat(""), wechat("oAnn"), wechat("wx1:"), wechat(":oAnn"),
		wechat("wx1:o:x"), wechat("wx1:o' OR 1"), wechat("wx1:" + strings.Repeat("o", 65)), {"alipay": "a b"}} {
		err := payees.Link(t.Context(), "u1", claim, 1)
		if _, is := errors.AsType[rain.Invalid](err); !is {
			t.Errorf("%v: %v", claim, err)
		}
	}
}

func TestPayeesAreMasked(t *testing.T) {
	t.Parallel()
	for account, want := range map[string]string{"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o": "oUp***S6o", "2088123": "***",
		"": "***"} {
		testenv.Equal(t, ledger.Payee{Account: account}.Masked(), want, "%s", account)
	}
}

// TestWithdrawalsKeepTheirPayee: a withdrawal goes to the payee that its player had, whatever is linked later. Without
// one of this app there is none, and nothing moves.
func TestWithdrawalsKeepTheirPayee(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 100)
		payees := paytest.Node(t, b).Payees
		desk := b.PaidTo(ledger.WeChatPayees("wx1"))
		testenv.Must(t, payees.Link(t.Context(), "u1", wechat("wx2:oAnn"), 1))
		testenv.WantErr(t, paytest.Err3(desk.Withdraw(t.Context(), "w1", "u1", 5)), ledger.ErrNoPayee,
			"without a payee")
		b.WantBalance(t, booking.UserAccount("u1"), 100)
		testenv.Must(t, payees.Link(t.Context(), "u1", wechat("wx1:oAnn"), 1))
		testenv.Must(t, paytest.Err3(desk.Withdraw(t.Context(), "w1", "u1", 5)))
		testenv.Must(t, payees.Link(t.Context(), "u1", wechat("wx1:oBob"), 2))
		testenv.Must(t, paytest.Err3(desk.Withdraw(t.Context(), "w2", "u1", 5)))
		again := testenv.Got3(desk.Withdraw(t.Context(), "w1", "u1", 5)).Must(t)
		for id, want := range map[string]string{"w1": "wechat:wx1:oAnn", "w2": "wechat:wx1:oBob"} {
			testenv.Equal(t, testenv.Got(b.Withdrawal(t.Context(), id)).Must(t).Payee, want, "payee of %s", id)
		}
		testenv.Equal(t, again.Payee, "wechat:wx1:oAnn", "payee of the repeated request")
		for _, w := range testenv.Got(b.LeaseDue(t.Context(), paytest.Bank, 9, time.Minute)).Must(t) {
			testenv.Must(t, b.RecordPaid(t.Context(), w, "r"))
		}
	})
}

// TestPayeesHaveADailyLimit: players who share a payee share its limit, also if they withdraw at once on three nodes.
func TestPayeesHaveADailyLimit(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for i := range 9 {
			user := fmt.Sprintf("u%d", i)
			b.Rich(t, user, 100)
			node := paytest.Node(t, b)
			testenv.Must(t, node.Payees.Link(t.Context(), user, wechat("wx1:oShared"), 1))
			desk := node.Withdrawals.Within(ledger.PlayerLimits{PerDay: 45}).PaidTo(ledger.WeChatPayees("wx1"))
			wg.Go(func() {
				_, _, err := desk.Withdraw(t.Context(), "w"+user, user, 10)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if limitOf(err) != ledger.LimitPayee {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		testenv.Equal(t, made, 4, "withdrawals to one payee")
		b.Clock.Add((24 * time.Hour).Milliseconds())
		desk := b.Within(ledger.PlayerLimits{PerDay: 45}).PaidTo(ledger.WeChatPayees("wx1"))
		testenv.Must(t, paytest.Err3(desk.Withdraw(t.Context(), "later", "u0", 45)))
	})
}

// TestLargeWithdrawalsWaitForAPerson: one above the limit is held until it is released, and above the most there is
// none.
func TestLargeWithdrawalsWaitForAPerson(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 1000)
		desk := b.Within(ledger.PlayerLimits{Most: 200, Review: new(rain.Money(50))})
		for id, c := range map[string]struct {
			amount rain.Money
			want   ledger.WithdrawalState
		}{"w1": {50, ledger.WithdrawalRequested}, "w2": {51, ledger.WithdrawalHeld}} {
			w := testenv.Got3(desk.Withdraw(t.Context(), id, "u1", c.amount)).Must(t)
			testenv.Equal(t, w.State, c.want, "%s", id)
		}
		testenv.Equal(t, limitOf(paytest.Err3(desk.Withdraw(t.Context(), "w3", "u1", 201))), ledger.LimitMost, "limit")
		history := testenv.Got(b.WithdrawalHistory(t.Context(), "w2")).Must(t)
		testenv.Equal(t, history[1].Actor+": "+history[1].Reason,
			"redrain: held: it is above 0.50, so a person has to release it", "history")
		testenv.Must(t, b.Release(paytest.As(t, "withdrawal.release"), "w2", ann))
		testenv.Got(b.LeaseDue(t.Context(), paytest.Bank, 9, time.Minute)).Len(t, 2, "leased withdrawals")
	})
}

// TestNewsOfAReceiverMakeDue: a sent withdrawal is due at once, a dead letter too. An ended one stays, and the news of
// another receiver do not count.
func TestNewsOfAReceiverMakeDue(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		w := b.MustSend(t, "w1", "u1", 5)
		testenv.Must(t, b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalSent, After: time.Hour}))
		testenv.WantErr(t, b.Recheck(ctx, "w2", paytest.Bank), ledger.ErrUnknownWithdrawal, "an unknown one")
		testenv.WantErr(t, b.Recheck(ctx, "w1", "wallet"), ledger.ErrNotAsked, "by another receiver")
		testenv.Got(b.LeaseDue(ctx, paytest.Bank, 9, time.Minute)).Len(t, 0, "leased withdrawals")
		testenv.Must(t, b.Recheck(ctx, "w1", paytest.Bank))
		testenv.Must(t, b.RecordDead(ctx, b.LeaseOne(t), "silence"))
		testenv.Got(b.LeaseDue(ctx, paytest.Bank, 9, time.Minute)).Len(t, 0, "leased withdrawals")
		for range 2 {
			testenv.Must(t, b.Recheck(ctx, "w1", paytest.Bank))
		}
		testenv.Must(t, b.RecordPaid(ctx, b.LeaseOne(t), "r"))
		testenv.Must(t, b.Recheck(ctx, "w1", paytest.Bank))
		testenv.Equal(t, testenv.Got(b.Withdrawal(ctx, "w1")).Must(t).State, ledger.WithdrawalPaid, "state")
	})
}
