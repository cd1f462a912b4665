package ledger_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// A lease is another's to the last millisecond, and free from its end on.
func TestLeaseEndsToTheMillisecond(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		const began = 1_763_712_000_000
		var now atomic.Int64
		now.Store(began)
		leases := ledger.New(b.DB, now.Load, rain.NewAmountsCache()).Leases
		for _, step := range []struct {
			holder string
			after  int64 // ms since the first lease
			held   bool
		}{{"a", 0, true}, {"b", 57_000, false}, {"b", 59_999, false}, {"b", 60_000, true}, {"a", 60_000, false}} {
			now.Store(began + step.after)
			held, err := leases.Lease(t.Context(), "job", step.holder, time.Minute)
			if err != nil || held.Held() != step.held {
				t.Errorf("after %d ms %s holds it: %v, want %v (%v)", step.after, step.holder, held, step.held, err)
			}
		}
	})
}

// A try at a withdrawal is its payer's to the last millisecond of the lease.
func TestTryIsLeasedToTheMillisecond(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.Rich(t, "u1", 100)
		b.MustWithdraw(t, "w1", "u1", 40)
		began := b.Clock.Load()
		var now atomic.Int64
		now.Store(began)
		books := ledger.New(b.DB, now.Load, rain.NewAmountsCache()).Withdrawals
		for _, step := range []struct{ after, due int64 }{{0, 1}, {57_000, 0}, {59_999, 0}, {60_000, 1}} {
			now.Store(began + step.after)
			due, err := books.LeaseDue(t.Context(), paytest.Bank, 10, time.Minute)
			if err != nil || int64(len(due)) != step.due {
				t.Errorf("after %d ms %d are due, want %d (%v)", step.after, len(due), step.due, err)
			}
		}
	})
}

// Begin reads a key with its lock: a request that another node takes up in that moment is not carried out here as
// well. SQLite has one writer, so the two meet on MySQL only.
func TestIdempotencyKeyIsReadUnderItsLock(t *testing.T) {
	b := paytest.OnMySQL(t)
	if _, err := b.Begin(t.Context(), "k", []byte("body")); err != nil {
		t.Fatal(err)
	}
	b.Clock.Add(ledger.RequestLease) // the first try was cut off
	begun := make(chan error, 1)
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		// The other node has it: as Begin does, in a transaction that is not committed yet.
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
	if err != nil {
		t.Fatal(err)
	}
	if err := <-begun; !errors.Is(err, ledger.ErrIdempotencyBusy) {
		t.Errorf("a request that another node works on: %v, want %v", err, ledger.ErrIdempotencyBusy)
	}
}

// A letter waits on while its packet is paid to somebody else: resolving it would take a promise back without a word.
func TestLetterIsResolvedForItsOwnPlayerOnly(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("paid", 0, 10), paytest.Win("same", 1, 10)))
		posted := b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("other", 0, 10), paytest.Win("third", 1, 10)))
		if len(posted.Dead) != 2 {
			t.Fatalf("dead letters %+v, want two of other players", posted.Dead)
		}
		if err := b.RefreshMetrics(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := b.CountDead(t); n != 2 {
			t.Errorf("%d letters wait, want both", n)
		}
		b.WantBalance(t, booking.UserAccount("other"), 0)
	})
}

// A database that fails in the middle of a retry is an error, also where a letter of the claim was settled before;
// what was settled is returned with it.
func TestRetrySaysTheDatabasesError(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		for n := range 2 { // copies of a win of a campaign that is not known yet, in two entries
			b.MustPost(t, paytest.Entry("c1", n+1, paytest.Win("u1", 0, 10)))
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		books := ledger.New(b.DB, func() int64 {
			if b.CountDead(t) == 1 { // the first is committed, and the second under way
				cancel()
			}
			return b.Clock.Now()
		}, rain.NewAmountsCache())
		settled, err := books.DeadLetters.Retry(ctx, "c1-0")
		if len(settled) != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("settled %+v, error %v, want one settlement and the error", settled, err)
		}
		if settled, err := b.Retry(t.Context(), "c1-0"); len(settled) != 1 || err != nil {
			t.Errorf("the other letter: %+v, %v", settled, err)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 10)
	})
}
