package providertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"redrain/payout/withdraw"
	"redrain/rain"
)

// oneName: a withdrawal is bound to the name, so a restart must not change it. It is shown in lists, so it must be
// short and without secrets.
func oneName(_ context.Context, s Sandbox) error {
	first, again := s.New().Receiver(), s.New().Receiver()
	if first != again || first.Provider == "" {
		return fmt.Errorf("the receiver is %+v, and after a restart %+v", first, again)
	}
	if err := s.discreet(errors.New(first.String())); lie(err) {
		return err
	}
	return nil
}

// discreet returns an error, or a lieError if the error contains a secret.
func (s Sandbox) discreet(err error) error {
	for _, secret := range s.Secrets {
		if strings.Contains(err.Error(), secret) {
			return &lieError{"a secret is shown: " + err.Error()}
		}
	}
	return err
}

// paysOnce: one payment, requested again after a restart.
func paysOnce(ctx context.Context, s Sandbox) error {
	pay := s.payment("k1", "ann")
	if err := s.mustPay(ctx, s.New(), pay, false); err != nil {
		return err
	}
	restarted := s.New()
	if err := s.mustPay(ctx, restarted, pay, true); err != nil {
		return err
	}
	// A payer without the first try, as after a restore: the key alone must be enough.
	return s.mustPay(ctx, restarted, pay, false)
}

// paysOnceAtOnce: several nodes request the same payment at once.
func paysOnceAtOnce(ctx context.Context, s Sandbox) error {
	pay := s.payment("k1", "ann")
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			if _, err := s.try(ctx, s.New(), pay, i%2 == 1, patience); lie(err) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.mustPay(ctx, s.New(), pay, true)
}

// paysTwoKeys: the same player and amount under two keys is two payments.
func paysTwoKeys(ctx context.Context, s Sandbox) error {
	p := s.New()
	for _, key := range []string{"k1", "k2"} {
		if a, err := s.end(ctx, p, s.payment(key, "ann"), false); err != nil || a.Status != withdraw.Paid {
			return fmt.Errorf("%s: %+v, %v", key, a, err)
		}
	}
	return s.wantMade(map[string]rain.Money{"k1": 250, "k2": 250})
}

// refuses: a refusal is final, and nothing is paid.
func refuses(ctx context.Context, s Sandbox) error {
	if s.Refused == "" {
		return nil
	}
	return s.mustRefuse(ctx, s.payment("k1", s.Refused))
}

func (s Sandbox) mustRefuse(ctx context.Context, pay withdraw.Payment) error {
	for again := range 3 {
		a, err := s.end(ctx, s.New(), pay, again > 0)
		if err != nil || a.Status != withdraw.Refused {
			return fmt.Errorf("try %d: %+v, %v; it must be refused", again+1, a, err)
		}
		if s.Go != nil {
			s.Go()
		}
	}
	return s.wantMade(nil)
}

// expires: the player does not confirm in time.
func expires(ctx context.Context, s Sandbox) error {
	if s.Expire == nil {
		return nil
	}
	pay, p := s.payment("k1", "ann"), s.New()
	for i := range rounds {
		a, err := s.try(ctx, p, pay, i > 0, patience)
		if err != nil {
			return err
		}
		if a.Status == withdraw.ActionRequired {
			s.Expire(pay.Key)
			return s.mustRefuse(ctx, pay)
		}
		s.Go()
	}
	return errors.New("the player is never asked to confirm")
}

// asks: a question about an unknown payment does not make it.
func asks(ctx context.Context, s Sandbox) error {
	asker, can := s.New().(withdraw.Asker)
	if !can {
		return nil
	}
	a, err := asker.Ask(ctx, s.payment("k1", "ann"))
	if err != nil || a.Status != withdraw.Unknown {
		return fmt.Errorf("ask for an unknown payment: %+v, %v; want Unknown", a, err)
	}
	return s.wantMade(nil)
}

// survives: one try fails in any way, and the payment is made once in the end.
func survives(ctx context.Context, s Sandbox, f Fault) error {
	if s.Breaker == nil {
		return nil
	}
	pay, p := s.payment("k1", "ann"), s.New()
	limit := patience
	if f == Hangs {
		limit = shortly
	}
	for n := range 2 { // of the first request, and of the question about its state
		s.Breaker.Break(f, 3) // an HTTP client may retry by itself
		began := time.Now()
		a, err := s.try(ctx, p, pay, n > 0, limit)
		s.Breaker.Break("", 0)
		later, _ := errors.AsType[*withdraw.LaterError](err)
		switch {
		case lie(err):
			return err
		case err == nil && f != LostAnswer && f != CutAnswer && f != ThenError:
			return fmt.Errorf("%s, and the provider says %+v", f, a)
		case f == Hangs && time.Since(began) > patience/2:
			return fmt.Errorf("its Pay returns %v after its context has ended", time.Since(began))
		case f == Busy && (later == nil || later.After < BusyFor):
			return fmt.Errorf("the receiver asks for a delay of %v, and the provider says %v", BusyFor, err)
		}
	}
	return s.mustPay(ctx, s.New(), pay, true)
}

// Made is a payment in a receiver's own books.
type Made struct {
	Key    string // the withdrawal's
	User   string
	Amount rain.Money
}

// Sandbox is a receiver for tests. It is safe for concurrent use. Checks that need a nil or empty field are skipped.
type Sandbox struct {
	// New makes another provider for this receiver, as after a restart or on another node. Required.
	New func() withdraw.Provider
	// Made lists the payments in the receiver's books, each as often as it was made. Nil: the provider makes none
	// outside.
	Made func() []Made
	// Go lets the receiver do its open work.
	Go func()
	// Confirm confirms a payment as its player.
	Confirm func(key string)
	// Expire lets the time for a payment's confirmation pass.
	Expire func(key string)
	// Refused is a player whom the receiver refuses for good.
	Refused string
	// Payee returns a player's account at the receiver. Nil: payments have none.
	Payee func(user string) string
	// PayeeKind is the kind of these payees, and Claim a token's claim that names a player's.
	PayeeKind string
	Claim     func(user string) map[string]string
	// Notifications returns the receiver's new notifications.
	Notifications func() []Notification
	// Breaker is in front of the receiver and breaks requests.
	Breaker *Breaker
	// Secrets must not be in the receiver's name nor in errors.
	Secrets []string
}

func (s Sandbox) made(key string) (list []Made) {
	if s.Made == nil {
		return nil
	}
	for _, m := range s.Made() {
		if m.Key == key {
			list = append(list, m)
		}
	}
	return list
}
