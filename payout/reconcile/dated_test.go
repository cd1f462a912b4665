package reconcile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// TestWhatIsDatedIntoTheFutureIsNamed dates a lease, a withdrawal, the turn and a try of a receiver and two proofs as
// far ahead as there may be any, and further: by both proofs only the latter is found, and it is mended by whoever does
// that work next.
func TestWhatIsDatedIntoTheFutureIsNamed(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		l := newRecentLedger(t, b)
		for range 8 {
			l.goOn()
		}
		if tenure, err := b.Lease(t.Context(), "a job", "n1", ledger.LongestLease); err != nil || !tenure.Held() {
			t.Fatalf("%+v, %v", tenure, err)
		}
		paced := b.Paced(ledger.ReceiverLimits{Rate: 1, InFlight: 1})
		node := paytest.Node(t, b)
		prove := func() {
			at := b.Clock.Load()
			paytest.Must(t, node.Proofs.NoteProofs(t.Context(), []ledger.Proof{{Campaign: "c1", ProvedAt: at},
				{Kind: ledger.ProofFull, ProvedAt: at}}))
		}
		prove()
		b.MustWithdraw(t, "w-tried", "u", 1)
		tried, err := paced.LeaseDue(t.Context(), paytest.Bank, 1, time.Minute)
		if err != nil || len(tried) != 1 {
			t.Fatalf("%+v, %v", tried, err)
		}
		b.MustWithdraw(t, "w-late", "u", 1)
		date := func(by time.Duration) {
			b.Statement(t, fmt.Sprintf("UPDATE proof SET proved_at = proved_at + %d", by.Milliseconds()))
			b.Statement(t, fmt.Sprintf("UPDATE provider_try SET ends_at = %d",
				b.Clock.Load()+(ledger.LongestWait+by).Milliseconds()))
			b.Statement(t, fmt.Sprintf("UPDATE provider_pace SET next_turn = %d",
				(b.Clock.Load()+(ledger.LongestTurn+by).Milliseconds())*1000))
			b.Statement(t, fmt.Sprintf("UPDATE lease SET expires_at = expires_at + %d WHERE name = 'a job'",
				by.Milliseconds()))
			b.Statement(t, fmt.Sprintf("UPDATE withdrawal SET next_at = %d WHERE id = 'w-late'",
				b.Clock.Load()+(ledger.LongestWait+by).Milliseconds()))
		}
		want := func(when string, n int) {
			t.Helper()
			recent, _ := l.recent()
			for kind, found := range map[string][]string{"recent": recent, "full": l.full()} {
				found = slices.Compact(slices.Sorted(slices.Values(found)))
				if len(found) != n {
					t.Errorf("%s, %s: %q, want %d", when, kind, found, n)
				}
			}
		}
		want("as far ahead as any", 0)
		date(time.Hour)
		want("an hour further", 6)
		if tenure, err := b.Lease(t.Context(), "a job", "n2", 10*time.Second); err != nil || tenure.Stray != "n1" {
			t.Errorf("%+v, %v", tenure, err)
		}
		starts := func(receiver string) {
			t.Helper()
			_, err := b.Approvals.StartProvider(t.Context(), receiver, false)
			paytest.Must(t, err)
		}
		starts("wallet")
		taken, err := b.LeaseDue(t.Context(), "wallet", 5, time.Second)
		if err != nil || len(taken) != 1 || taken[0].ID != "w-late" {
			t.Errorf("%+v, %v", taken, err)
		}
		starts(paytest.Bank)
		b.MustWithdraw(t, "w-next", "u", 1)
		if tried, err = paced.LeaseDue(t.Context(), paytest.Bank, 1, time.Minute); err != nil || len(tried) != 1 {
			t.Errorf("%+v, %v", tried, err)
		}
		prove()
		want("done all the same", 0)
	})
}
