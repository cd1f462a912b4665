package withdraw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"redrain/payout/ledger"
)

// behaviour is a modelled receiver's reaction to one request.
type behaviour string

const (
	doesDecide   behaviour = "pays or refuses at once"
	doesLose     behaviour = "pays or refuses, and the answer is lost"
	doesMumble   behaviour = "pays or refuses, and the answer does not say so"
	doesTakeOn   behaviour = "has it: pending"
	doesWantMore behaviour = "has it: the player must confirm"
	doesAnswer   behaviour = "says what it has said before"
	doesNothing  behaviour = "is not reached"
	doesBusy     behaviour = "429"
)

// drawBehaviour is drawn before a receiver is asked: the payer recovers panics, and would recover rapid's, too.
func drawBehaviour(rt *rapid.T) behaviour {
	return rapid.SampledFrom([]behaviour{doesDecide, doesLose, doesMumble, doesTakeOn, doesWantMore, doesAnswer,
		doesNothing, doesBusy}).Draw(rt, "the receiver")
}

// modelPayment is a payment in the receiver's books.
type modelPayment struct {
	Payment

	status Status
	made   int // number of transfers
}

// modelReceiver is a receiver with its own books, and the provider for it. It pays a key once, and never changes a
// final answer. It handles one request at a time.
type modelReceiver struct {
	name string
	do   behaviour // for the next requests
	deaf bool      // to Ask

	payments map[string]*modelPayment
	asked    map[string]int // number of calls of Pay
	fault    string         // of the caller
}

func newModelReceiver(name string) *modelReceiver {
	return &modelReceiver{name: name, do: doesDecide, payments: map[string]*modelPayment{}, asked: map[string]int{}}
}

// Receiver implements Provider.
func (m *modelReceiver) Receiver() Receiver { return Receiver{Provider: m.name} }

// Pay implements Provider.
func (m *modelReceiver) Pay(_ context.Context, pay Payment) (Answer, error) {
	m.asked[pay.Key]++
	switch m.do {
	case doesNothing:
		return Answer{}, errors.New("no answer")
	case doesBusy:
		return Answer{}, &LaterError{After: time.Minute, Err: errors.New("status 429")}
	}
	p := m.payments[pay.Key]
	if p == nil {
		p = &modelPayment{Payment: pay, status: Pending}
		m.payments[pay.Key] = p
	}
	if p.Payment != pay {
		m.fault = fmt.Sprintf("%s was asked for %+v, and then for %+v", m.name, p.Payment, pay)
	}
	if p.status == Pending || p.status == ActionRequired {
		switch m.do {
		case doesDecide, doesLose, doesMumble:
			p.decide()
		case doesTakeOn:
			p.status = Pending
		case doesWantMore:
			p.status = ActionRequired
		}
	}
	switch m.do {
	case doesLose:
		return Answer{}, errors.New("the answer is lost")
	case doesMumble:
		return Answer{}, nil
	}
	return m.answer(p), nil
}

// decide ends an open payment: odd amounts are refused.
func (p *modelPayment) decide() {
	if p.Amount%2 == 1 {
		p.status = Refused
		return
	}
	p.status = Paid
	p.made++
}

func (m *modelReceiver) answer(p *modelPayment) Answer {
	a := Answer{Status: p.status, Reference: m.name + "-" + p.Key}
	if p.status == ActionRequired {
		a.Action = ledger.Action{Data: "package of " + p.Key}
	}
	return a
}

// confirm acts as the player of a payment. The receiver then ends the payment.
func (m *modelReceiver) confirm(key string) {
	if p := m.payments[key]; p != nil && (p.status == ActionRequired || p.status == Pending) {
		p.decide()
	}
}

// askable is a modelReceiver with Ask.
type askable struct{ *modelReceiver }

// Ask implements Asker.
func (a askable) Ask(_ context.Context, pay Payment) (Answer, error) {
	p := a.payments[pay.Key]
	switch {
	case a.deaf:
		return Answer{}, errors.New("no answer")
	case p == nil:
		return Answer{Status: Unknown}, nil
	}
	return a.answer(p), nil
}
