package withdraw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
)

// outcome is the result of a try that is to be recorded.
type outcome struct {
	name      string
	reason    string // "" for paid
	reference string // the provider's, of a payment
	write     func(ctx context.Context) error
}

var errNoAnswer = errors.New("the provider gave no clear answer about the payment")

// classify returns the outcome for the provider's answer.
func (p *Payer) classify(ctx context.Context, w ledger.Withdrawal, a Answer, err error) outcome {
	if err == nil && a.Status == ActionRequired {
		if a.Action == (ledger.Action{}) {
			a.Action = w.Action
		}
		err = CheckAction(a.Action)
	}
	switch {
	case err != nil:
		return p.unclear(ctx, w, err)
	case a.Status == Paid:
		p.outside.Works()
		return outcome{outcomePaid, "", a.Reference, func(ctx context.Context) error {
			return p.ledger.RecordPaid(ctx, w, a.Reference)
		}}
	case a.Status == Refused:
		p.outside.Works()
		reason := "refused by the provider"
		if a.Reason != "" {
			reason = "refused by the provider: " + a.Reason
		}
		return outcome{outcomeRefused, reason, "", func(ctx context.Context) error {
			return p.ledger.RecordRefused(ctx, w, reason)
		}}
	case a.Status == Pending || a.Status == ActionRequired:
		p.outside.Works()
		return p.waiting(w, a)
	}
	return p.unclear(ctx, w, errNoAnswer)
}

// unclear delays a withdrawal, or gives it up after the last try.
func (p *Payer) unclear(ctx context.Context, w ledger.Withdrawal, err error) outcome {
	reason := err.Error()
	if ctx.Err() == nil { // otherwise this process has aborted the try
		p.outside.Failed(fmt.Errorf("withdrawal %s, try %d: %w", w.ID, w.Attempts, err))
	}
	if w.Attempts >= p.o.Attempts {
		return p.dead(w, reason)
	}
	pause := loop.Backoff(payFirst, payMost, w.Attempts-1)
	if later, ok := errors.AsType[*LaterError](err); ok {
		pause = max(pause, min(later.After, payPatience))
	}
	return outcome{outcomeAgain, reason, "", func(ctx context.Context) error {
		return p.ledger.RecordRetry(ctx, w, pause, reason)
	}}
}

func (p *Payer) dead(w ledger.Withdrawal, reason string) outcome {
	return outcome{outcomeDead, reason, "", func(ctx context.Context) error {
		return p.ledger.RecordDead(ctx, w, reason)
	}}
}

// waiting delays the next try. The delay grows with the time that the receiver has had the payment, up to
// waitLongest.
func (p *Payer) waiting(w ledger.Withdrawal, a Answer) outcome {
	waited := time.Duration(0)
	if w.WaitsSince > 0 {
		waited = time.Duration(p.o.Clock()-w.WaitsSince) * time.Millisecond
	}
	if waited > waitLongest {
		return p.dead(w, "the provider has reported the payment in flight for a week")
	}
	is := ledger.Waiting{State: ledger.WithdrawalSent, Reference: a.Reference, Reason: a.Reason,
		After: max(waitFirst, min(waited/4, waitMost), min(a.After, payPatience), p.pollEvery())}
	name := outcomeWaiting
	if a.Status == ActionRequired {
		name, is.State, is.Action = outcomeAction, ledger.WithdrawalAction, a.Action
	}
	return outcome{name, a.Reason, a.Reference, func(ctx context.Context) error {
		return p.ledger.RecordWaiting(ctx, w, is)
	}}
}

// pollEvery returns the pause in which all open withdrawals can be asked about at PollRate. With many of them it is
// longer than the provider's own delay, so that questions leave room for new payments.
func (p *Payer) pollEvery() time.Duration {
	if p.o.PollRate == 0 {
		return 0
	}
	return min(time.Duration(float64(p.open.Load())/p.o.PollRate*float64(time.Second)), payPatience)
}
