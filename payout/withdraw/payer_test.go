package withdraw

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// patience is for a machine that has other work.
const patience = 30 * time.Second

// paying runs a payer until the test ends, or stop is called.
func paying(t *testing.T, ledger withdrawals, provider Provider, o PayerOptions) (p *Payer, stop func()) {
	t.Helper()
	o.Log = paytest.Quiet
	p = NewPayer(ledger, provider, o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return p, stop
}

// eventually waits for a withdrawal to reach a state. It skips delays. A lease does not end by that, if it lasts
// longer than any delay.
func eventually(t *testing.T, b *paytest.Books, p *Payer, id string,
	done func(ledger.Withdrawal) bool) ledger.Withdrawal {
	t.Helper()
	var w ledger.Withdrawal
	testenv.Eventually(t, patience, "withdrawal "+id, func() bool {
		w = testenv.Got(b.Withdrawal(t.Context(), id)).Must(t)
		if wait := w.NextAt - b.Clock.Load(); wait > 0 && wait <= payMost.Milliseconds() {
			b.Clock.Add(wait)
			p.Wake()
		}
		return done(w)
	})
	return w
}

func finished(w ledger.Withdrawal) bool { return !w.State.Open() }

// TestPayerPaysEachOnce: three nodes share the due withdrawals. If a receiver does not answer, the same payment is
// requested again. If it refuses, it is not.
func TestPayerPaysEachOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const count = 60
		b.Rich(t, "u1", count)
		refused := func(key string) bool { return strings.HasSuffix(key, "5") }
		silent := func(key string) bool { return strings.HasSuffix(key, "7") }
		provider := &fakeProvider{answer: func(_ context.Context, p Payment, try int) (Answer, error) {
			switch {
			case silent(p.Key) && try == 1:
				return Answer{}, errors.New("no answer")
			case refused(p.Key):
				return Answer{Status: Refused, Reason: "unknown account"}, nil
			}
			return paid("bank-" + p.Key)
		}}
		var payers []*Payer
		for range 3 { // three nodes
			p, _ := paying(t, b.Withdrawals, provider, PayerOptions{Timeout: time.Hour})
			payers = append(payers, p)
		}
		for i := range count {
			b.MustWithdraw(t, fmt.Sprintf("w%d", i), "u1", 1)
			payers[i%3].Wake()
		}
		for i := range count {
			id := fmt.Sprintf("w%d", i)
			w := eventually(t, b, payers[i%3], id, finished)
			state, tries := ledger.WithdrawalPaid, 1
			if refused(id) {
				state = ledger.WithdrawalRefused
			}
			if silent(id) {
				tries = 2
			}
			if w.State != state || provider.tries(id) != tries || provider.payments(id)[0].Request != paytest.Request ||
				len(slices.Compact(provider.payments(id))) != 1 ||
				state == ledger.WithdrawalPaid && w.Reference != "bank-"+id {
				t.Errorf("%+v, asked for %+v", w, provider.payments(id))
			}
		}
		testenv.Eventually(t, patience, "all counted", func() bool {
			total := 0.0
			for _, p := range payers {
				total += testutil.ToFloat64(p.outcome.WithLabelValues(outcomePaid)) +
					testutil.ToFloat64(p.outcome.WithLabelValues(outcomeRefused))
			}
			return total == count
		})
	})
}

// TestPayerBuriesAndRedrives: a provider that panics or fails gets the maximum of tries, and raises one alarm. After
// an operator's retry it gets the same payment.
func TestPayerBuriesAndRedrives(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 100)
		provider := &fakeProvider{answer: func(_ context.Context, _ Payment, try int) (Answer, error) {
			switch try {
			case 1:
				return Answer{}, errors.New("status 404")
			case 2:
				panic("torn")
			}
			return paid("")
		}}
		alarms := make(chan string, 10)
		p, _ := paying(t, b.Withdrawals, provider, PayerOptions{
			Attempts: 2, Timeout: time.Hour,
			OnAlarm: func(w ledger.Withdrawal, message string) { alarms <- w.ID + " " + message },
		})
		b.MustWithdraw(t, "w1", "u1", 60)
		w := eventually(t, b, p, "w1", func(w ledger.Withdrawal) bool { return w.Dead })
		torn := loop.ErrPanic.Error() + ": torn"
		if w.Attempts != 2 || w.State != ledger.WithdrawalSent || w.LastError != torn || provider.tries("w1") != 2 {
			t.Errorf("%+v after %d tries", w, provider.tries("w1"))
		}
		if got := <-alarms; got != "w1 a withdrawal waits for a person: "+torn {
			t.Errorf("alarm %q", got)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 40)
		testenv.Must(t, testenv.Err(b.Retry(t.Context(), "w1")))
		eventually(t, b, p, "w1", finished)
		b.WantWithdrawal(t, "w1", ledger.WithdrawalPaid, 1)
		if asked := slices.Compact(provider.payments("w1")); len(asked) != 1 || len(alarms) > 0 {
			t.Errorf("asked for %+v; %d more alarms", asked, len(alarms))
		}
	})
}

// TestPayerPutsOff: a provider's delay is respected up to a limit. The pauses grow without it, too.
func TestPayerPutsOff(t *testing.T) {
	t.Parallel()
	p := NewPayer(nil, Wallet{}, PayerOptions{Attempts: 100, Log: paytest.Quiet})
	for _, c := range []struct {
		try         int
		err         error
		least, most time.Duration
	}{
		{1, errors.New("x"), payFirst / 2, payFirst},
		{2, errors.New("x"), payFirst, 2 * payFirst},
		{9, errors.New("x"), 256 * time.Second, 512 * time.Second},
		{40, errors.New("x"), 450 * time.Second, 15 * time.Minute},
		{1, &LaterError{After: 5 * time.Minute, Err: errors.New("x")}, 5 * time.Minute, 5 * time.Minute},
		{1, fmt.Errorf("wrapped: %w", &LaterError{After: 365 * 24 * time.Hour, Err: errors.New("x")}), payPatience,
			payPatience},
		{9, &LaterError{After: time.Second, Err: errors.New("x")}, 256 * time.Second, 512 * time.Second},
	} {
		fake := &fakeLedger{}
		p.ledger = fake
		testenv.Must(t, p.classify(t.Context(), ledger.Withdrawal{Attempts: c.try}, Answer{}, c.err).write(t.Context()))
		if fake.after < c.least || fake.after > c.most {
			t.Errorf("after try %d, %v: %v", c.try, c.err, fake.after)
		}
	}
}

// TestAHangingProviderHoldsUpNobodyElse: hanging payments take one slot each, the others continue, and each try ends
// by its timeout.
func TestAHangingProviderHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	b.Rich(t, "u1", 100)
	var mu sync.Mutex
	underWay, most := 0, 0
	provider := &fakeProvider{answer: func(ctx context.Context, p Payment, try int) (Answer, error) {
		mu.Lock()
		underWay++
		most = max(most, underWay)
		mu.Unlock()
		defer func() { mu.Lock(); underWay--; mu.Unlock() }()
		if p.Amount == 2 && try == 1 {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}
		return paid("")
	}}
	p, _ := paying(t, b.Withdrawals, provider, PayerOptions{Concurrency: 4, Timeout: 200 * time.Millisecond})
	for i := range 30 {
		b.MustWithdraw(t, fmt.Sprintf("w%d", i), "u1", rain.Money(1+i%10/9)) // every tenth hangs
		p.Wake()
	}
	state := func(query string) int { return b.Count(t, "SELECT COUNT(*) FROM withdrawal WHERE "+query) }
	testenv.Eventually(t, patience, "the others paid, and the hanging tries over", func() bool {
		return state("state = 'paid'") == 27 && state("state = 'sent' AND last_error <> ''") == 3
	})
	b.Clock.Add(payFirst.Milliseconds())
	p.Wake()
	testenv.Eventually(t, patience, "all paid", func() bool { return state("state = 'paid'") == 30 })
	mu.Lock()
	defer mu.Unlock()
	if most > 4 {
		t.Errorf("%d payments at once", most)
	}
	for i := range 30 {
		id := fmt.Sprintf("w%d", i)
		if want := 1 + i%10/9; provider.tries(id) != want {
			t.Errorf("%s was tried %d times, want %d", id, provider.tries(id), want)
		}
	}
	b.CheckBooks(t)
}

// TestPayerThatEndsLeavesThePaymentToAnother: one payer is stopped while the provider hangs. It ends soon, and the
// next payer makes the payment under the same key.
func TestPayerThatEndsLeavesThePaymentToAnother(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	b.Rich(t, "u1", 100)
	asked := make(chan struct{}, 1)
	provider := &fakeProvider{answer: func(ctx context.Context, _ Payment, try int) (Answer, error) {
		if try > 1 {
			return paid("bank")
		}
		asked <- struct{}{}
		<-ctx.Done() // it may have paid
		return Answer{}, ctx.Err()
	}}
	first, stop := paying(t, b.Withdrawals, provider, PayerOptions{Timeout: time.Hour})
	b.MustWithdraw(t, "w1", "u1", 60)
	first.Wake()
	<-asked
	stop()
	b.WantWithdrawal(t, "w1", ledger.WithdrawalSent, 1)
	second, _ := paying(t, b.Withdrawals, provider, PayerOptions{Timeout: time.Hour})
	eventually(t, b, second, "w1", finished)
	b.WantWithdrawal(t, "w1", ledger.WithdrawalPaid, 2)
	if asked := provider.payments("w1"); asked[0] != asked[1] {
		t.Errorf("%+v", asked)
	}
	b.CheckBooks(t)
}

// TestPayerSaysWhatIsWrong: a provider that refuses and later reports a payment has cost money. An alarm reports it.
func TestPayerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	alarms := []string{}
	p := NewPayer(&fakeLedger{err: fmt.Errorf("withdrawal w1: %w", ledger.ErrPaidTwice)}, Wallet{}, PayerOptions{
		Log: paytest.Quiet, OnAlarm: func(_ ledger.Withdrawal, message string) { alarms = append(alarms, message) },
	})
	p.record(t.Context(), ledger.Withdrawal{}, p.classify(t.Context(), ledger.Withdrawal{}, Answer{Status: Paid}, nil))
	testenv.Equal(t, alarms, []string{ledger.ErrPaidTwice.Error()}, "alarms")
}

// TestManyWaitingPaymentsAreAskedSlowly: all open withdrawals together take at most PollRate. A few keep their
// pace.
func TestManyWaitingPaymentsAreAskedSlowly(t *testing.T) {
	t.Parallel()
	for open, want := range map[int64]time.Duration{0: waitFirst, 100: waitFirst, 10_000: 200 * time.Second,
		100_000: 2000 * time.Second, 1_000_000: payPatience} {
		b := &fakeLedger{}
		p := NewPayer(b, Wallet{}, PayerOptions{PollRate: 50, Log: paytest.Quiet})
		p.open.Store(open)
		w := ledger.Withdrawal{}
		p.record(t.Context(), w, p.classify(t.Context(), w, Answer{Status: Pending}, nil))
		testenv.Equal(t, b.is.After, want, "%d open", open)
	}
}

// TestEarlierActionsStay if an answer leaves the action out. Without an earlier one the answer is unclear.
func TestEarlierActionsStay(t *testing.T) {
	t.Parallel()
	had := ledger.Action{Kind: ledger.ActionWeChat, Data: "{}"}
	for name, c := range map[string]struct {
		had  ledger.Action
		want string
	}{"had": {had, outcomeAction}, "none": {ledger.Action{}, outcomeAgain}} {
		b := &fakeLedger{}
		p := NewPayer(b, Wallet{}, PayerOptions{Log: paytest.Quiet})
		w := ledger.Withdrawal{Action: c.had, Attempts: 1}
		said := p.classify(t.Context(), w, Answer{Status: ActionRequired}, nil)
		p.record(t.Context(), w, said)
		testenv.Equal(t, said.name, c.want, "%s: outcome", name)
		testenv.Equal(t, b.is.Action, c.had, "%s: action", name)
	}
}

// forgetful is a provider whose Ask never repeats the action.
type forgetful struct{ fakeProvider }

func (*forgetful) Ask(context.Context, Payment) (Answer, error) {
	return Answer{Status: ActionRequired}, nil
}

// TestLostActionsAreFoundAgain: if neither the ledger nor the question has the action, the same payment is requested
// again. Otherwise it is not.
func TestLostActionsAreFoundAgain(t *testing.T) {
	t.Parallel()
	action := ledger.Action{Data: "package"}
	for name, c := range map[string]struct {
		had  ledger.Action
		paid int
	}{"lost": {ledger.Action{}, 1}, "kept": {action, 0}} {
		provider := &forgetful{fakeProvider{answer: func(context.Context, Payment, int) (Answer, error) {
			return Answer{Status: ActionRequired, Action: action}, nil
		}}}
		b := &fakeLedger{}
		p := NewPayer(b, provider, PayerOptions{Log: paytest.Quiet})
		w := ledger.Withdrawal{ID: "w1", Attempts: 1, AskedBefore: true, Action: c.had}
		p.try(t.Context(), w, time.Now().Add(time.Minute))
		testenv.Equal(t, provider.tries("w1"), c.paid, "%s: requests", name)
		testenv.Equal(t, b.is.Action, action, "%s: action", name)
	}
}
