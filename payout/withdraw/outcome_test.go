package withdraw

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// Each answer has its outcome, with at most ten tries by default. An outcome that cannot be recorded is neither
// reported nor counted.
func TestPayerRecordsEachAnswer(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	there := ledger.Action{URL: "https://pay.example/confirm?w=1"}
	for _, c := range []struct {
		try     int
		answer  Answer
		err     error
		outcome string
		news    bool
	}{
		{1, Answer{Status: Paid}, nil, outcomePaid, true},
		{1, Answer{Status: Refused, Reason: "no such account"}, nil, outcomeRefused, true},
		{9, Answer{}, errors.New("unclear"), outcomeAgain, false},
		{10, Answer{}, errors.New("unclear"), outcomeDead, false},
		{99, Answer{Status: Pending}, nil, outcomeWaiting, false},
		{99, Answer{Status: ActionRequired, Action: there}, nil, outcomeAction, true},
		// An empty or invalid answer is unclear. An error takes precedence over an answer.
		{1, Answer{}, nil, outcomeAgain, false},
		{1, Answer{Status: Unknown}, nil, outcomeAgain, false},
		{1, Answer{Status: ActionRequired}, nil, outcomeAgain, false},
		{1, Answer{Status: Paid}, errors.New("unclear"), outcomeAgain, false},
		{1, Answer{Status: Refused}, errors.New("unclear"), outcomeAgain, false},
	} {
		var ended []string
		fake := &fakeLedger{err: away}
		p := NewPayer(fake, Wallet{}, PayerOptions{
			Log: paytest.Quiet, OnNews: func(id string) { ended = append(ended, id) },
		})
		w := ledger.Withdrawal{ID: "w1", Attempts: c.try}
		v := p.classify(t.Context(), w, c.answer, c.err)
		if err := v.write(t.Context()); v.name != c.outcome || !errors.Is(err, away) {
			t.Errorf("try %d, %+v, %v: %s, %v; want %s and the database's error", c.try, c.answer, c.err, v.name,
				err, c.outcome)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		p.record(cut, w, v) // ends with its context, and has reported and counted nothing
		fake.err, fake.fails = nil, 3
		synctest.Test(t, func(t *testing.T) { p.record(t.Context(), w, v) }) // the answer is kept until it is written
		if n := testutil.ToFloat64(p.outcome.WithLabelValues(c.outcome)); n != 1 || (len(ended) == 1) != c.news {
			t.Errorf("%s: counted %v times, reported %q", c.outcome, n, ended)
		}
	}
}

// A payer with default options waits ten seconds for an answer, measures it, counts pending withdrawals, and calls no
// callback.
func TestPayerByDefault(t *testing.T) {
	t.Parallel()
	provider := &fakeProvider{answer: func(ctx context.Context, _ Payment, _ int) (Answer, error) {
		end, limited := ctx.Deadline()
		if left := time.Until(end); !limited || left > 10*time.Second || left < 5*time.Second {
			return Answer{}, fmt.Errorf("the time ends at %v", end)
		}
		return paid("theirs")
	}}
	reg := prometheus.NewRegistry()
	p := NewPayer(&fakeLedger{}, provider, PayerOptions{Registerer: reg})
	w := ledger.Withdrawal{ID: "w1", Attempts: 1}
	answer, err := p.pay(t.Context(), w)
	if answer.Reference != "theirs" || err != nil {
		t.Error(answer, err)
	}
	p.record(t.Context(), w, p.classify(t.Context(), w, answer, err))
	p.alarm(w, "nobody hears")
	testenv.Must(t, p.refreshGauge(t.Context()))
	testenv.Equal(t, testutil.ToFloat64(p.pending), 7, "wait")
	families := testenv.Got(reg.Gather()).Must(t)
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

// TestWhatAPlayerIsToldToDo is an https address, or data as unchanged text: the provider's app reads it.
func TestWhatAPlayerIsToldToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action ledger.Action
		can    bool
	}{
		{ledger.Action{}, false},
		{ledger.Action{URL: "https://pay.example/confirm?id=1"}, true},
		{ledger.Action{URL: "javascript:alert(1)"}, false},
		{ledger.Action{URL: "http://pay.example/"}, false},
		{ledger.Action{URL: "https://pay.example/\xff"}, false},
		{ledger.Action{URL: "https://pay.example/" + strings.Repeat("x", 2000)}, false},
		{ledger.Action{Data: "package=😀"}, true},
		{ledger.Action{Data: "package=\xff"}, false},
		{ledger.Action{Data: "a\x00b"}, false},
		{ledger.Action{Data: strings.Repeat("x", 4001)}, false},
		{ledger.Action{Data: "x", Until: -1}, false},
	} {
		if err := CheckAction(c.action); (err == nil) != c.can {
			t.Errorf("%.40q: %v", c.action.URL+c.action.Data, err)
		}
	}
}
