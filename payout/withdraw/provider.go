package withdraw

import (
	"context"
	"errors"
	"time"

	"redrain/rain"
)

// Payment is what a provider is asked to pay. It is the same at every try, in every field.
type Payment struct {
	Key       string     // the withdrawal's id: however often a payment with this key is asked for, it is made once
	User      string     // the player who gets it
	Amount    rain.Money // above zero
	CreatedAt int64      // when the player asked for it, Unix ms
}

// Provider pays money outside. It is safe for concurrent use.
type Provider interface {
	// Pay makes a payment, or finds that it was made under its key before. There are three answers:
	//
	//   - no error: it is paid, now or by an earlier call; reference is the provider's own name for it, if it has one;
	//   - an error that wraps ErrRefused: it is not paid and never will be under this key. The text is for people;
	//   - any other error: nothing is known. It may be paid, and is asked for again; a *LaterError says when.
	//
	// Pay returns soon after ctx ends.
	Pay(ctx context.Context, p Payment) (reference string, err error)
}

// ErrRefused is in the error of a payment that is not made and never will be. Only what is certain may be refused:
// the money goes back to the player.
var ErrRefused = errors.New("refused by the provider")

// LaterError is the error of a try after which the provider wants to be left alone for a while.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error is the cause's.
func (l *LaterError) Error() string { return l.Err.Error() }

// Unwrap is the cause.
func (l *LaterError) Unwrap() error { return l.Err }

// Wallet is the provider for which the ledger's entry is the payment: whoever keeps the books pays by other means.
type Wallet struct{}

// Pay has nothing left to do.
func (Wallet) Pay(context.Context, Payment) (string, error) { return "", nil }
