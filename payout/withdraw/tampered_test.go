package withdraw

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/payout/ledger"
	"redrain/payout/ledger/history"
	"redrain/payout/paytest"
)

// TestPayerSaysThatAWithdrawalWasChanged: what the provider says of a withdrawal that somebody changes in the database
// while it is asked is written nowhere, so people are told, once and at once, with the provider's reference.
func TestPayerSaysThatAWithdrawalWasChanged(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.Rich(t, "u1", 100)
		provider := &fakeProvider{answer: func(context.Context, Payment, int) (Answer, error) {
			b.Statement(t, "UPDATE withdrawal SET amount = 6 WHERE id = 'w1'")
			return paid("bank-77")
		}}
		var alarms []string
		p := NewPayer(b.Withdrawals, provider, PayerOptions{Log: paytest.Quiet, Clock: b.Clock.Now,
			OnAlarm: func(w ledger.Withdrawal, message string) { alarms = append(alarms, w.ID+": "+message) }})
		b.MustWithdraw(t, "w1", "u1", 5)
		// Whoever takes it for a database that is away tries for as long as the lease lasts.
		p.try(t.Context(), b.LeaseOne(t), time.Now().Add(time.Hour))
		if len(alarms) != 1 || !strings.HasPrefix(alarms[0], "w1: ") ||
			!strings.Contains(alarms[0], "paid (bank-77)") ||
			!strings.Contains(alarms[0], history.ErrTampered.Error()) {
			t.Errorf("%q", alarms)
		}
		if n := testutil.ToFloat64(p.outcome.WithLabelValues(outcomePaid)); n != 0 {
			t.Errorf("%v recorded as paid", n)
		}
	})
}
