package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/rain"
)

// patience is for a machine that has other work.
const patience = 30 * time.Second

// paying runs a payer until the test ends, or stop is called.
func paying(t *testing.T, ledger withdrawals, provider Provider, o PayerOptions) (p *Payer, stop func()) {
	t.Helper()
	o.Log = quiet
	p, err := NewPayer(ledger, provider, o)
	must(t, err)
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

// eventually waits for a withdrawal to come into a state. Where it is put off, that time passes at once. A lease
// does not end by that, if it lasts longer than any pause.
func (b *books) eventually(t *testing.T, p *Payer, id string, done func(Withdrawal) bool) Withdrawal {
	t.Helper()
	var w Withdrawal
	testenv.Eventually(t, patience, "withdrawal "+id, func() bool {
		var err error
		w, err = b.Withdrawal(t.Context(), id)
		must(t, err)
		if wait := w.NextAt - b.clock.now.Load(); wait > 0 && wait <= payMost.Milliseconds() {
			b.clock.now.Add(wait)
			p.Wake()
		}
		return done(w)
	})
	return w
}

func finished(w Withdrawal) bool { return w.State != WithdrawalPending }

func TestPayerPaysEachOnce(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		const count = 60
		b.rich(t, "u1", count)
		provider := &fakeProvider{answer: func(_ context.Context, p Payment, _ int) (string,
			error) {
			return "bank-" + p.Key, nil
		}}
		var payers []*Payer
		for range 3 { // three nodes
			p, _ := paying(t, b.Ledger, provider, PayerOptions{Timeout: time.Hour})
			payers = append(payers, p)
		}
		for i := range count {
			b.withdraw(t, fmt.Sprintf("w%d", i), "u1", 1)
			payers[i%3].Wake()
		}
		testenv.Eventually(t, patience, "all paid", func() bool {
			n,
				err := b.CountPending(t.Context())
			must(t, err)
			return n == 0
		})
		testenv.Eventually(t, patience, "all counted", func() bool {
			total := 0.0
			for _, p := range payers {
				total += testutil.ToFloat64(p.outcome.WithLabelValues(outcomePaid))
			}
			return total == count
		})
		for i := range count {
			id := fmt.Sprintf("w%d", i)
			if w := b.wantWithdrawal(t, id, WithdrawalPaid, 1); w.Reference != "bank-"+id || provider.tries(id) != 1 {
				t.Errorf("%+v, asked %d times", w, provider.tries(id))
			}
		}
		b.audit(t)
	})
}

// TestPayerThroughUnclearAnswers: the same payment is asked for until there is a clear answer, with growing pauses.
func TestPayerThroughUnclearAnswers(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		b.rich(t, "u1", 100)
		provider := &fakeProvider{answer: func(_ context.Context, p Payment, try int) (string, error) {
			switch {
			case try < 4:
				return "", errors.New("status 500")
			case p.Amount == 30:
				return "", fmt.Errorf("%w: the account is closed", ErrRefused)
			}
			return "bank", nil
		}}
		p, _ := paying(t, b.Ledger, provider, PayerOptions{Timeout: time.Hour})
		b.withdraw(t, "pays", "u1", 60)
		b.withdraw(t, "refuses", "u1", 30)
		for _, id := range []string{"pays", "refuses"} {
			b.eventually(t, p, id, finished)
			if asked := slices.Compact(provider.payments(id)); len(asked) != 1 {
				t.Errorf("%s was asked for as %+v", id, asked)
			}
		}
		b.wantWithdrawal(t, "pays", WithdrawalPaid, 4)
		if w := b.wantWithdrawal(t, "refuses", WithdrawalFailed,
			4); w.LastError != "refused by the provider: the account is closed" {
			t.Errorf("%+v", w)
		}
		b.wantBalance(t, userAccount("u1"), 40)
		b.audit(t)
	})
}

func TestPayerBuriesAndRedrives(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		b.rich(t, "u1", 100)
		heals := make(chan struct{})
		provider := &fakeProvider{answer: func(_ context.Context, _ Payment, try int) (string, error) {
			select {
			case <-heals:
				return "", nil
			default:
				return "", fmt.Errorf("status 404 at try %d", try)
			}
		}}
		alarms := make(chan string, 10)
		p, _ := paying(t, b.Ledger, provider, PayerOptions{
			Attempts: 3, Timeout: time.Hour, OnAlarm: func(w Withdrawal,
				message string) {
				alarms <- w.ID + " " + message
			},
		})
		b.withdraw(t, "w1", "u1", 60)
		w := b.eventually(t, p, "w1", func(w Withdrawal) bool { return w.Dead })
		if w.Attempts != 3 || w.State != WithdrawalPending || w.LastError != "status 404 at try 3" ||
			provider.tries("w1") != 3 {
			t.Errorf("%+v after %d tries", w, provider.tries("w1"))
		}
		if got := <-alarms; got != "w1 a withdrawal waits for a person: status 404 at try 3" {
			t.Errorf("alarm %q", got)
		}
		b.wantBalance(t, userAccount("u1"), 40)
		close(heals)
		_, err := b.Retry(t.Context(), "w1")
		must(t, err)
		b.eventually(t, p, "w1", finished)
		b.wantWithdrawal(t, "w1", WithdrawalPaid, 1)
		if len(alarms) > 0 {
			t.Errorf("another alarm: %s", <-alarms)
		}
		b.audit(t)
	})
}

// TestPayerPutsOff: a provider that wants to be left alone is, but not for ever; the pauses grow by themselves too.
func TestPayerPutsOff(t *testing.T) {
	p, err := NewPayer(nil, nil, PayerOptions{Log: quiet})
	must(t, err)
	for _, c := range []struct {
		try         int
		err         error
		least, most time.Duration
	}{
		{1, errors.New("x"), payFirst / 2, payFirst},
		{2, errors.New("x"), payFirst, 2 * payFirst},
		{9, errors.New("x"), 256 * time.Second, 512 * time.Second},
		{1, &LaterError{After: 5 * time.Minute, Err: errors.New("x")}, 5 * time.Minute, 5 * time.Minute},
		{1, fmt.Errorf("wrapped: %w", &LaterError{After: 365 * 24 * time.Hour, Err: errors.New("x")}), payPatience,
			payPatience},
		{9, &LaterError{After: time.Second, Err: errors.New("x")}, 256 * time.Second, 512 * time.Second},
	} {
		fake := &fakeLedger{}
		p.ledger = fake
		must(t, p.judge(t.Context(), Withdrawal{Attempts: c.try}, "", c.err).write(t.Context()))
		if fake.after < c.least || fake.after > c.most {
			t.Errorf("after try %d, %v: %v", c.try, c.err, fake.after)
		}
	}
}

// TestAHangingProviderHoldsUpNobodyElse: those that hang take a slot each and no more than the slots, the others go
// on, and each try ends by its time-out.
func TestAHangingProviderHoldsUpNobodyElse(t *testing.T) {
	b := onSQLite(t)
	b.rich(t, "u1", 100)
	var mu sync.Mutex
	underWay, most := 0, 0
	provider := &fakeProvider{answer: func(ctx context.Context, p Payment, try int) (string, error) {
		mu.Lock()
		underWay++
		most = max(most, underWay)
		mu.Unlock()
		defer func() { mu.Lock(); underWay--; mu.Unlock() }()
		if p.Amount == 2 && try == 1 {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "", nil
	}}
	p, _ := paying(t, b.Ledger, provider, PayerOptions{Concurrency: 4, Timeout: 200 * time.Millisecond})
	for i := range 30 {
		b.withdraw(t, fmt.Sprintf("w%d", i), "u1", rain.Money(1+i%10/9)) // the tenth of each ten hangs
		p.Wake()
	}
	state := func(query string) int { return b.count(t, "SELECT COUNT(*) FROM withdrawal WHERE "+query) }
	testenv.Eventually(t, patience, "the others paid, and the hanging tries over", func() bool {
		return state("state = 'paid'") == 27 && state("state = 'pending' AND last_error <> ''") == 3
	})
	b.clock.now.Add(payFirst.Milliseconds())
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
	b.audit(t)
}

// TestPayerRecordsWhenTheDatabaseIsBack: the provider has paid and the database is away. The answer is kept until
// it can be written.
func TestPayerRecordsWhenTheDatabaseIsBack(t *testing.T) {
	b := onSQLite(t)
	b.rich(t, "u1", 100)
	flaky := &flakyLedger{Ledger: b.Ledger, fails: 3}
	provider := &fakeProvider{answer: func(context.Context, Payment, int) (string, error) { return "bank", nil }}
	p, _ := paying(t, flaky, provider, PayerOptions{Timeout: time.Hour})
	b.withdraw(t, "w1", "u1", 60)
	p.Wake()
	b.eventually(t, p, "w1", finished)
	if flaky.left() != 0 || provider.tries("w1") != 1 {
		t.Errorf("%d failures left, %d tries", flaky.left(), provider.tries("w1"))
	}
	b.audit(t)
}

// TestPayerThatEndsLeavesThePaymentToAnother: one payer is stopped while the provider hangs. It ends soon, and the
// payment is made by the next under the same key.
func TestPayerThatEndsLeavesThePaymentToAnother(t *testing.T) {
	b := onSQLite(t)
	b.rich(t, "u1", 100)
	asked := make(chan struct{}, 1)
	provider := &fakeProvider{answer: func(ctx context.Context, _ Payment, try int) (string, error) {
		if try > 1 {
			return "bank", nil
		}
		asked <- struct{}{}
		<-ctx.Done() // it has paid, perhaps
		return "", ctx.Err()
	}}
	first, stop := paying(t, b.Ledger, provider, PayerOptions{Timeout: time.Hour})
	b.withdraw(t, "w1", "u1", 60)
	first.Wake()
	<-asked
	stop()
	b.wantWithdrawal(t, "w1", WithdrawalPending, 1)
	second, _ := paying(t, b.Ledger, provider, PayerOptions{Timeout: time.Hour})
	b.eventually(t, second, "w1", finished)
	b.wantWithdrawal(t, "w1", WithdrawalPaid, 2)
	if asked := provider.payments("w1"); asked[0] != asked[1] {
		t.Errorf("%+v", asked)
	}
	b.audit(t)
}

// TestPayerSaysWhatIsWrong: a provider that refuses and later says paid has cost money; the one thing to do is to
// say so.
func TestPayerSaysWhatIsWrong(t *testing.T) {
	alarms := []string{}
	p, err := NewPayer(&fakeLedger{err: fmt.Errorf("withdrawal w1: %w", errPaidTwice)}, nil, PayerOptions{
		Log: quiet, OnAlarm: func(_ Withdrawal, message string) { alarms = append(alarms, message) },
	})
	must(t, err)
	p.record(t.Context(), Withdrawal{}, p.judge(t.Context(), Withdrawal{}, "", nil))
	if !slices.Equal(alarms, []string{errPaidTwice.Error()}) {
		t.Errorf("%q", alarms)
	}
}
