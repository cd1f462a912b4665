package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
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
	for _, name := range []string{"sqlite", "mysql"} {
		t.Run(name, func(t *testing.T) {
			var db *sqldb.DB
			var err error
			if name == "sqlite" {
				db, err = sqldb.OpenSQLite("")
			} else {
				db, err = sqldb.OpenMySQL(testenv.MySQL(t))
			}
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			must(t, db.Migrate(t.Context()))
			together(t, ledger.New(db, now))
		})
	}
}

func together(t *testing.T, books *ledger.Ledger) {
	t.Helper()
	const players, each = 5, 12
	for p := range players {
		enrich(t, books, fmt.Sprintf("u%d", p), 1000)
	}
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
		must(t, err)
		return len(open) == 0
	})
	list, _, err := books.Withdrawals.ListWithdrawals(t.Context(), all)
	must(t, err)
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
		case refused && w.State != ledger.WithdrawalFailed,
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
	t.Cleanup(func() { cancel(); must(t, <-ended) })
}

// enrich gives a player money, by a win.
func enrich(t *testing.T, books *ledger.Ledger, user string, amount rain.Money) {
	t.Helper()
	ctx, id := t.Context(), "for-"+user
	_, err := books.Sponsors.Deposit(ctx, "acme", id, amount)
	must(t, err)
	spec := rain.Spec{Name: id, Sponsor: "acme", Budget: amount, Packets: 1, Split: rain.Even, Min: 1, WinsPerUser: 1,
		Shards: 1, ExpiresInMS: 1e6}
	must(t, books.Campaigns.CreateCampaign(ctx, &rain.Campaign{ID: id, Spec: spec, Status: rain.Loading, Revision: 1,
		SplitSeed: rain.Seed{1}}))
	posted, err := books.Poster.Post(ctx, []rain.Entry{{
		Ref: rain.EntryRef{Campaign: id, ID: "1-0"}, Wins: []rain.Win{{User: user, Packet: 0, Amount: amount,
			Drop: "1.1"}},
	}})
	if err != nil || posted.New != 1 {
		t.Fatal(posted, errors.Join(err))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
