package ledger_test

import (
	"errors"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWhoFreezesBeforeItLooks: what others have begun meanwhile is dated by a later clock than the frozen one has read.
// That is no date of the future: the lease stays theirs, and so does the request.
func TestWhoFreezesBeforeItLooks(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t)
	others := ledger.New(b.DB, b.Clock.Load, rain.NewAmountsCache())
	meanwhile := func() {}
	freezes := func() int64 { // once, right after it has read the clock
		now, others := b.Clock.Load(), meanwhile
		meanwhile = func() {}
		others()
		return now
	}
	frozen := ledger.New(b.DB, freezes, rain.NewAmountsCache())
	must := func(err error) {
		t.Helper()
		paytest.Must(t, err)
	}
	_, err := others.Leases.Lease(t.Context(), "job", "a", time.Minute)
	must(err)
	meanwhile = func() {
		b.Clock.Add(30_000)
		_, err := others.Leases.Lease(t.Context(), "job", "a", time.Minute)
		must(err)
	}
	if is, err := frozen.Leases.Lease(t.Context(), "job", "b", time.Minute); is.Held() || is.Stray != "" || err != nil {
		t.Errorf("%+v, %v", is, err)
	}

	_, err = frozen.Answers.Begin(t.Context(), "another", nil) // which prunes, and so reads the clock once more
	must(err)
	meanwhile = func() {
		meanwhile = func() {
			b.Clock.Add(30_000)
			_, err := others.Answers.Begin(t.Context(), "key", nil)
			must(err)
		}
	}
	if _, err := frozen.Answers.Begin(t.Context(), "key", nil); !errors.Is(err, ledger.ErrIdempotencyBusy) {
		t.Errorf("the request of others: %v", err)
	}
}
