package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/webhook"
	"redrain/payout/withdraw/webhook/webhooktest"
	"redrain/rain"
)

// TestWhatIsPaidIsWhatIsInTheBooks: players withdraw, three payers of as many nodes share the work, and the
// receiver does everything that goes wrong, by chance. In the end it has paid what the ledger says, each withdrawal
// once, and what it refused is back.
func TestWhatIsPaidIsWhatIsInTheBooks(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together(t, open(t))
		})
	}
}

func together(t *testing.T, b *paytest.Books) {
	t.Helper()
	const players, each = 5, 12
	for p := range players {
		b.Rich(t, fmt.Sprintf("u%d", p), 1000)
	}
	books := ledger.New(b.DB, now, rain.NewAmountsCache())
	receiver, random := webhooktest.New(), testenv.Random(t)
	receiver.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
		switch {
		case r.Amount%4 == 0:
			return webhooktest.Refuse
		case r.Try > 1: // so that it comes to an end soon: the pauses between tries are real
			return webhooktest.Pay
		}
		return []webhooktest.Behaviour{
			webhooktest.Pay, webhooktest.Pay, webhooktest.PayTwice, webhooktest.PayAndFail, webhooktest.PayAndHang,
			webhooktest.PayAndBreak,
			webhooktest.Fail, webhooktest.Hang, webhooktest.Missing,
		}[random.IntN(9)]
	}
	s := httptest.NewUnstartedServer(receiver)
	// it is told of connections that are cut on purpose
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	var payers []*withdraw.Payer
	for range 3 {
		provider := newProvider(t, webhook.Options{URL: s.URL, Secret: webhooktest.Secret, Clock: now})
		payer := withdraw.NewPayer(books.Withdrawals, provider, withdraw.PayerOptions{
			Concurrency: 4, Timeout: 300 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		})
		payers = append(payers, payer)
		run(t, payer)
	}
	var wg sync.WaitGroup
	for p := range players {
		wg.Go(func() {
			for i := range each {
				_, _, err := books.Withdrawals.Withdraw(t.Context(), fmt.Sprintf("w%d-%d", p, i), fmt.Sprintf("u%d", p),
					rain.Money(10+i))
				if err != nil {
					t.Error(err)
				}
				payers[i%3].Wake()
			}
		})
	}
	wg.Wait()
	all := ledger.WithdrawalQuery{Limit: 1000}
	var list []ledger.Withdrawal
	testenv.Eventually(t, time.Minute, "an end of every withdrawal", func() bool {
		open, _, err := books.Withdrawals.ListWithdrawals(t.Context(), ledger.WithdrawalQuery{
			State: ledger.WithdrawalPending, Limit: 1,
		})
		testenv.Must(t, err)
		return len(open) == 0
	})
	list, _, err := books.Withdrawals.ListWithdrawals(t.Context(), all)
	testenv.Must(t, err)
	paid := receiver.Paid()
	left := map[string]rain.Money{}
	for p := range players {
		left[fmt.Sprintf("u%d", p)] = 1000
	}
	for _, w := range list {
		refused := w.Amount%4 == 0
		if !refused {
			left[w.User] -= w.Amount
		}
		switch {
		case refused && w.State != ledger.WithdrawalRefused,
			!refused && (w.State != ledger.WithdrawalPaid || paid[w.ID] != w.Amount || w.Reference != "bank-"+w.ID):
			t.Errorf("%+v; the receiver has paid %d", w, paid[w.ID])
		}
		if !refused {
			delete(paid, w.ID)
		}
	}
	if len(list) != players*each || len(paid) != 0 {
		t.Errorf("%d withdrawals; paid beside them: %v", len(list), paid)
	}
	for user, want := range left {
		if got, err := books.Claims.UserBalance(t.Context(), user); err != nil || got != want {
			t.Errorf("%s has %d (%v), want %d", user, got, err, want)
		}
	}
	if f := receiver.Faults(); len(f) > 0 {
		t.Errorf("the receiver complains: %q", f)
	}
}

// run runs a payer until the test ends.
func run(t *testing.T, payer *withdraw.Payer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- payer.Run(ctx) }()
	t.Cleanup(func() { cancel(); testenv.Must(t, <-ended) })
}
