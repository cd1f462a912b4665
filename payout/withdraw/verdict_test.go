package withdraw

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// Each answer has its outcome, with ten tries at most where nothing else was said. What cannot be written is not taken
// for written; what is written is told where it is an end, and is counted.
func TestPayerRecordsEachAnswer(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	for _, c := range []struct {
		try     int
		answer  error
		outcome string
		ended   bool
	}{
		{1, nil, outcomePaid, true},
		{1, fmt.Errorf("no such account: %w", ErrRefused), outcomeRefused, true},
		{9, errors.New("unclear"), outcomeAgain, false},
		{10, errors.New("unclear"), outcomeDead, false},
	} {
		var ended []string
		fake := &fakeLedger{err: away}
		p := NewPayer(fake, nil, PayerOptions{
			Log: paytest.Quiet, OnEnd: func(id string) { ended = append(ended, id) },
		})
		w := ledger.Withdrawal{ID: "w1", Attempts: c.try}
		v := p.classify(t.Context(), w, "theirs", c.answer)
		if err := v.write(t.Context()); v.outcome != c.outcome || !errors.Is(err, away) {
			t.Errorf("try %d, %v: %s, %v; want %s and the database's error", c.try, c.answer, v.outcome, err, c.outcome)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		p.record(cut, w, v) // ends with its context, and has told and counted nothing
		fake.err = nil
		p.record(t.Context(), w, v)
		if n := testutil.ToFloat64(p.outcome.WithLabelValues(c.outcome)); n != 1 || (len(ended) == 1) != c.ended {
			t.Errorf("%s: counted %v times, told %q", c.outcome, n, ended)
		}
	}
}

// A payer of whom nothing is asked in particular waits ten seconds for an answer, times it, counts what waits, and
// tells nobody.
func TestPayerByDefault(t *testing.T) {
	t.Parallel()
	provider := &fakeProvider{answer: func(ctx context.Context, _ Payment, _ int) (string, error) {
		end, limited := ctx.Deadline()
		if left := time.Until(end); !limited || left > 10*time.Second || left < 5*time.Second {
			return "", fmt.Errorf("the time ends at %v", end)
		}
		return "theirs", nil
	}}
	reg := prometheus.NewRegistry()
	p := NewPayer(&fakeLedger{}, provider, PayerOptions{Registerer: reg})
	w := ledger.Withdrawal{ID: "w1", Attempts: 1}
	reference, err := p.pay(t.Context(), w)
	if reference != "theirs" || err != nil {
		t.Error(reference, err)
	}
	p.record(t.Context(), w, p.classify(t.Context(), w, reference, err))
	p.alarm(w, "nobody hears")
	p.refreshGauge(t.Context())
	if n := testutil.ToFloat64(p.pending); n != 7 {
		t.Errorf("%v wait", n)
	}
	families, err := reg.Gather()
	paytest.Must(t, err)
	for _, f := range families {
		if n := f.GetMetric()[0].GetHistogram().GetSampleCount(); f.GetName() == "redrain_provider_seconds" && n != 1 {
			t.Errorf("%d answers are timed", n)
		}
	}
	cause := errors.New("busy")
	if !errors.Is(&LaterError{After: time.Second, Err: cause}, cause) {
		t.Error("an error to come back later hides its cause")
	}
}
