package withdraw

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Payment is what a provider is asked to pay. It is the same at every try, in every field.
type Payment struct {
	Key       string     // the withdrawal's id: however often a payment with this key is asked for, it is made once
	User      string     // the player who gets it
	Amount    rain.Money // above zero
	CreatedAt int64      // when the player asked for it, Unix ms
}

// Provider pays money outside. It is safe for concurrent use. The package providertest checks one.
type Provider interface {
	// Receiver names who is asked: the same name for the same receiver, also after a restart, and another one for
	// another. A withdrawal that was sent to one receiver is never sent to another.
	Receiver() Receiver
	// Pay makes a payment, or finds what has become of it under its key before. An error says that nothing is known:
	// it may be paid, and is asked for again; a *LaterError says when. Only what is certain is an Answer. Pay returns
	// soon after ctx ends.
	Pay(ctx context.Context, p Payment) (Answer, error)
}

// Asker is a Provider that can ask what has become of a payment without making it. It is asked so from the second try
// on, and for a payment again only where the answer is Unknown.
type Asker interface {
	Ask(ctx context.Context, p Payment) (Answer, error)
}

// Status is what has become of a payment.
type Status int

// What a provider may answer. The zero value is no answer.
const (
	Paid           Status = iota + 1 // it is paid, now or by an earlier try
	Refused                          // it is not paid and never will be under this key; the money goes back
	Pending                          // the receiver has it, and it is neither
	ActionRequired                   // the player has to do something first
	Unknown                          // only of Ask: the receiver has no such payment
)

// Answer is what a provider says with certainty.
type Answer struct {
	Status    Status
	Reference string        // the provider's own name for the payment, if it has one
	Reason    string        // why it is refused, for the player to read; or what it waits for
	Action    ledger.Action // with ActionRequired: an https address, or data for the receiver's app
	After     time.Duration // with Pending and ActionRequired: when to ask again; 0 leaves it to the Payer
}

// Receiver is who pays.
type Receiver struct {
	Provider string // the kind of provider: "http"
	Address  string // where it is asked, without secrets; "" where there is no such thing
	Account  string // whose money it pays, as the key that it is asked with says; "" where there is no such thing
}

// maxReceiver is the length of a receiver's name in the ledger, in bytes.
const maxReceiver = 400

// String is the receiver as it is kept with a withdrawal. A long one ends in its hash, so that two that differ anywhere
// have two names.
func (r Receiver) String() string {
	name := strings.Join(slices.DeleteFunc([]string{r.Provider, r.Address, r.Account},
		func(s string) bool { return s == "" }), " ")
	if len(name) <= maxReceiver {
		return name
	}
	hash := booking.Digest([]byte(name))
	return ledger.Storable(name, maxReceiver-len(hash)-1) + " " + hash
}

// LaterError is the error of a try after which the provider wants to be left alone for a while.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error is the cause's.
func (l *LaterError) Error() string { return l.Err.Error() }

// Unwrap is the cause.
func (l *LaterError) Unwrap() error { return l.Err }

// The limits of what a player can be told to do, in bytes.
const (
	maxActionURL  = 2000
	maxActionData = 4000
)

var errBadAction = errors.New("the provider wants something of the player, and gives neither an https address of at " +
	"most 2000 bytes of text nor data of at most 4000")

// CheckAction tells whether a player can be told to do this. An address is https, because the page makes a link of it.
func CheckAction(a ledger.Action) error {
	if a.URL == "" && a.Data == "" || a.Until < 0 || ledger.Storable(a.URL, maxActionURL) != a.URL ||
		ledger.Storable(a.Data, maxActionData) != a.Data {
		return errBadAction
	}
	if a.URL == "" {
		return nil
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errBadAction
	}
	return nil
}

// Wallet is the provider for which the ledger's entry is the payment: whoever keeps the books pays by other means.
type Wallet struct{}

// Receiver implements Provider.
func (Wallet) Receiver() Receiver { return Receiver{Provider: "wallet"} }

// Pay has nothing left to do.
func (Wallet) Pay(context.Context, Payment) (Answer, error) { return Answer{Status: Paid}, nil }
