package withdraw

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// fakeProvider answers by a function, and records the payments.
type fakeProvider struct {
	answer func(ctx context.Context, p Payment, try int) (Answer, error)

	mu    sync.Mutex
	asked map[string][]Payment
}

func (*fakeProvider) Receiver() Receiver { return Receiver{Provider: paytest.Bank} }

func (f *fakeProvider) Pay(ctx context.Context, p Payment) (Answer, error) {
	f.mu.Lock()
	if f.asked == nil {
		f.asked = map[string][]Payment{}
	}
	f.asked[p.Key] = append(f.asked[p.Key], p)
	try := len(f.asked[p.Key])
	f.mu.Unlock()
	return f.answer(ctx, p, try)
}

// payments returns the payments with a key, by try.
func (f *fakeProvider) payments(key string) []Payment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked[key])
}

func (f *fakeProvider) tries(key string) int { return len(f.payments(key)) }

// fakeLedger records the delays of withdrawals, and fails on request.
type fakeLedger struct {
	withdrawals

	after time.Duration
	is    ledger.Waiting
	err   error
	fails int // so many records fail before
}

func (f *fakeLedger) record() error {
	if f.fails--; f.fails >= 0 {
		return errors.New("the database is away")
	}
	return f.err
}

func (f *fakeLedger) RecordRetry(_ context.Context, _ ledger.Withdrawal, after time.Duration, _ string) error {
	f.after = after
	return f.record()
}

func (f *fakeLedger) RecordWaiting(_ context.Context, _ ledger.Withdrawal, is ledger.Waiting) error {
	f.is = is
	return f.record()
}

func (f *fakeLedger) RecordPaid(context.Context, ledger.Withdrawal, string) error { return f.record() }

func (f *fakeLedger) RecordRefused(context.Context, ledger.Withdrawal, string) error {
	return f.record()
}

func (f *fakeLedger) RecordDead(context.Context, ledger.Withdrawal, string) error { return f.record() }

func (f *fakeLedger) CountPending(context.Context) (int64, error) { return 7, f.err }

// paid is the answer for a made payment.
func paid(reference string) (Answer, error) { return Answer{Status: Paid, Reference: reference}, nil }
