package withdraw

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Payment is a payment that a provider should make. It is the same at every try, in every field.
type Payment struct {
	Key       string     // the withdrawal's id; the idempotency key: any number of calls makes one payment
	User      string     // the player
	Payee     string     // the player's account at the provider: see ledger.Payee; "" = none. It belongs in no log
	Amount    rain.Money // above zero
	CreatedAt int64      // when the player requested it, Unix ms
	Request   string     // the id of the player's HTTP request; "": none
}

// Provider makes payments outside. It is safe for concurrent use. Package providertest checks implementations.
type Provider interface {
	// Receiver names the paying party. The name is the same after a restart, and different for each receiver. A
	// withdrawal that was sent to one receiver is never sent to another.
	Receiver() Receiver
	// Pay makes a payment, or finds the state of an earlier one under its key. It returns an Answer only if the
	// result is certain. After an error the payment may be made or not, and the next try asks again. A *LaterError
	// delays the next try. Pay returns soon after ctx ends.
	Pay(ctx context.Context, p Payment) (Answer, error)
}

// Asker is a Provider that can ask for the state of a payment without making it. From the second try on, Ask is
// called first, and Pay only if the answer is Unknown. Ask may leave out the action of ActionRequired: the one before
// stays, and without one Pay is called, which finds the payment under its key.
type Asker interface {
	Ask(ctx context.Context, p Payment) (Answer, error)
}

// Notified is a Provider that gets notifications from its receiver. A notification only makes its payment due: the
// next try asks for its state.
type Notified interface {
	// ReadNotification verifies a notification, and returns the key of its payment; "" if it is about none.
	ReadNotification(header http.Header, body []byte) (key string, err error)
	// AnswerNotification answers a notification in the receiver's form. With another status than 200 the receiver sends
	// it again.
	AnswerNotification(w http.ResponseWriter, status int)
}

// Status is the state of a payment.
type Status int

// The answers of a provider. The zero value is invalid.
const (
	Paid           Status = iota + 1 // paid, now or by an earlier try
	Refused                          // not paid, and never will be under this key; the money returns to the player
	Pending                          // accepted, and neither paid nor refused
	ActionRequired                   // the player must act first
	Unknown                          // only of Ask: the receiver has no such payment
)

// Answer is a certain result.
type Answer struct {
	Status    Status
	Reference string        // the provider's own id of the payment, if any
	Reason    string        // of a refusal, for the player; or of the wait
	Action    ledger.Action // with ActionRequired: an https address, or data for the receiver's app
	After     time.Duration // with Pending and ActionRequired: delay of the next try; 0: the Payer decides
}

// LacksAction reports whether the player must act, and neither the answer nor the ledger has the action.
func (a Answer) LacksAction(had ledger.Action) bool {
	return a.Status == ActionRequired && a.Action == (ledger.Action{}) && had == (ledger.Action{})
}

// Receiver is the outside system that receives our payment orders and pays the player.
type Receiver struct {
	Provider string // the kind of provider: "http"
	Address  string // without secrets; "" = none
	Account  string // the paying account, as identified by the API key; "" = none
}

// maxReceiver is the length limit of a receiver's name in the ledger, in bytes.
const maxReceiver = 400

// String returns the receiver as stored with a withdrawal. A long name ends in its hash, so that different receivers
// have different names.
func (r Receiver) String() string {
	name := strings.Join(slices.DeleteFunc([]string{r.Provider, r.Address, r.Account},
		func(s string) bool { return s == "" }), " ")
	if len(name) <= maxReceiver {
		return name
	}
	hash := booking.Digest([]byte(name))
	return ledger.Storable(name, maxReceiver-len(hash)-1) + " " + hash
}

// LaterError is the error of a try with a delay until the next one.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error returns the cause's text.
func (l *LaterError) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l *LaterError) Unwrap() error { return l.Err }

// The limits of an action, in bytes.
const (
	maxActionURL  = 2000
	maxActionData = 4000
)

var errBadAction = errors.New("the provider requires an action of the player, and gives neither an https address of " +
	"at most 2000 bytes of text nor data of at most 4000")

// CheckAction reports whether an action is valid. An address is https, because the page makes a link of it.
func CheckAction(a ledger.Action) error {
	if a.URL == "" && a.Data == "" || a.Until < 0 || a.Kind != "" && a.Kind != ledger.ActionWeChat ||
		ledger.Storable(a.URL, maxActionURL) != a.URL || ledger.Storable(a.Data, maxActionData) != a.Data {
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

// Wallet is the provider for installations without a payment provider: the ledger's entry is the payment, and the
// organizer pays by other means.
type Wallet struct{}

// Receiver implements Provider.
func (Wallet) Receiver() Receiver { return Receiver{Provider: "wallet"} }

// Pay does nothing.
func (Wallet) Pay(context.Context, Payment) (Answer, error) { return Answer{Status: Paid}, nil }
