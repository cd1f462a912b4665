package providertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// Check is one requirement for a provider.
type Check struct {
	Name string
	Run  func(ctx context.Context, s Sandbox) error
}

// Checks returns all checks, including one for each fault.
func Checks() []Check {
	list := []Check{
		{"the receiver has one name", oneName},
		{"a payment is made", paysOnce},
		{"a key is paid once", paysOnceAtOnce},
		{"two keys are two payments", paysTwoKeys},
		{"a refusal is for good", refuses},
		{"an unconfirmed payment is not paid", expires},
		{"asking makes nothing", asks},
	}
	for _, f := range Faults() {
		list = append(list, Check{string(f), func(ctx context.Context, s Sandbox) error { return survives(ctx, s, f) }})
	}
	return list
}

// Run checks a provider. open makes a new sandbox, which ends with its test.
func Run(t *testing.T, open func(t *testing.T) Sandbox) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(t.Context(), open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The limits of a check. patience allows for a busy machine. shortly is for a try without an answer.
const (
	patience = time.Minute
	shortly  = 200 * time.Millisecond
	rounds   = 50 // of asking, until a payment has ended
)

// PaymentsAt is the time at which players request the payments of all checks, Unix ms.
const PaymentsAt = 1_763_712_000_000

func (s Sandbox) payment(key, user string) withdraw.Payment {
	p := withdraw.Payment{Key: key, User: user, Amount: 250, CreatedAt: PaymentsAt}
	if s.Payee != nil {
		p.Payee = s.Payee(user)
	}
	return p
}

// try asks once, as the Payer does: if the receiver may have the payment, Ask comes before Pay.
func (s Sandbox) try(ctx context.Context, p withdraw.Provider, pay withdraw.Payment, again bool,
	limit time.Duration) (withdraw.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if asker, can := p.(withdraw.Asker); can && again {
		answer, err := asker.Ask(ctx, pay)
		if err != nil || answer.Status != withdraw.Unknown && !answer.LacksAction(ledger.Action{}) {
			return answer, s.truthful(pay, answer, err)
		}
	}
	answer, err := p.Pay(ctx, pay)
	if err == nil && answer.Status == withdraw.Unknown {
		return answer, &lieError{"Pay answers Unknown, which only Ask may"}
	}
	return answer, s.truthful(pay, answer, err)
}

// lieError is a false answer of a provider, in contrast to an error that it may return.
type lieError struct{ what string }

func (l *lieError) Error() string { return l.what }

func lie(err error) bool {
	_, is := errors.AsType[*lieError](err)
	return is
}

// truthful compares an answer with the receiver's books.
func (s Sandbox) truthful(pay withdraw.Payment, a withdraw.Answer, err error) error {
	if err != nil {
		return s.discreet(err)
	}
	made := s.made(pay.Key)
	switch {
	case a.Status < withdraw.Paid || a.Status > withdraw.Unknown:
		return &lieError{fmt.Sprintf("neither an answer nor an error: %+v", a)}
	case len(made) > 1:
		return &lieError{fmt.Sprintf("%s was paid %d times", pay.Key, len(made))}
	case a.Status == withdraw.Paid && s.Made != nil && len(made) == 0:
		return &lieError{pay.Key + " is said to be paid, and the receiver has not paid it"}
	case a.Status != withdraw.Paid && len(made) == 1 && a.Status == withdraw.Refused:
		return &lieError{pay.Key + " is said to be refused, and the receiver has paid it"}
	case len(made) == 1 && (made[0].User != pay.User || made[0].Amount != pay.Amount):
		return &lieError{fmt.Sprintf("asked for %+v, the receiver has paid %+v", pay, made[0])}
	case a.Status == withdraw.ActionRequired:
		if err := withdraw.CheckAction(a.Action); err != nil {
			return &lieError{err.Error()}
		}
	}
	return nil
}

// end asks for a payment until it has ended. The receiver goes on, and the player acts as required.
func (s Sandbox) end(ctx context.Context, p withdraw.Provider, pay withdraw.Payment,
	again bool) (a withdraw.Answer, err error) {
	for i := range rounds {
		a, err = s.try(ctx, p, pay, again || i > 0, patience)
		switch {
		case err != nil && (lie(err) || ctx.Err() != nil):
			return a, err
		case err == nil && (a.Status == withdraw.Paid || a.Status == withdraw.Refused):
			return a, nil
		case err == nil && a.Status == withdraw.ActionRequired && s.Confirm != nil:
			s.Confirm(pay.Key)
		}
		if s.Go != nil {
			s.Go()
		}
	}
	return a, fmt.Errorf("%s has not ended after %d tries: %+v, %v", pay.Key, rounds, a, err)
}

// mustPay has a payment made, and looks it up in the receiver's books.
func (s Sandbox) mustPay(ctx context.Context, p withdraw.Provider, pay withdraw.Payment, again bool) error {
	a, err := s.end(ctx, p, pay, again)
	switch {
	case err != nil:
		return err
	case a.Status != withdraw.Paid:
		return fmt.Errorf("%s is not paid: %+v", pay.Key, a)
	}
	return s.wantMade(map[string]rain.Money{pay.Key: pay.Amount})
}

// wantMade compares the receiver's books with the expected payments.
func (s Sandbox) wantMade(want map[string]rain.Money) error {
	if s.Made == nil {
		return nil
	}
	made := s.Made()
	got := map[string]rain.Money{}
	for _, m := range made {
		got[m.Key] += m.Amount
	}
	if len(made) != len(want) {
		return fmt.Errorf("the receiver has made %+v, want %v", made, want)
	}
	for key, amount := range want {
		if got[key] != amount {
			return fmt.Errorf("the receiver has made %+v, want %v", made, want)
		}
	}
	return nil
}
