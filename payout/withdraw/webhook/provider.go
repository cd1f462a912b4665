package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"redrain/internal/requestid"
	"redrain/internal/signed"
	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// currency is the currency of amounts, which are in its minor units.
const currency = "CNY"

// Options are the settings of a Provider. URL and Secret are required.
type Options struct {
	URL    string // of the receiver: https, or http on this machine
	Secret string // whsec_…, shared with the receiver
	// NewSecret returns the newest Secret. Nil: it never changes.
	NewSecret func() string
	// Account names the paying account. With it, a new secret for the same account is the same receiver. If it is
	// empty, each secret is a separate account.
	Account string
	Clock   rain.Clock // Unix ms, for the timestamps; required
	// TLS is for tests with their own certificate authority. Nil: the system's authorities (SSL_CERT_FILE and
	// SSL_CERT_DIR name others), at least TLS 1.2.
	TLS *tls.Config
}

// Provider asks one receiver for payments. It implements withdraw.Provider.
type Provider struct {
	named withdraw.Receiver
	clock rain.Clock
	to    *signed.Sender
}

// New makes a provider. It sends nothing.
func New(o Options) (*Provider, error) {
	to, err := signed.NewSender(signed.SenderOptions{URL: o.URL, Secret: o.Secret, NewSecret: o.NewSecret,
		Clock: o.Clock, Most: maxAnswer, TLS: o.TLS})
	if err != nil {
		return nil, err
	}
	key, err := signed.ParseSecret(o.Secret)
	if err != nil {
		return nil, err
	}
	return &Provider{named: receiver(o, key), clock: o.Clock, to: to}, nil
}

// receiver names the receiver without secrets: passwords and queries only show as a digest.
func receiver(o Options, key []byte) withdraw.Receiver {
	u, _ := url.Parse(o.URL) // NewSender has checked it
	account := o.Account
	if account == "" {
		account = "key:" + digest(key)
	}
	if u.User != nil || u.RawQuery != "" {
		account += " url:" + digest([]byte(fmt.Sprint(u.User, "?", u.RawQuery)))
	}
	return withdraw.Receiver{Provider: providerName, Account: account,
		Address: (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()}
}

// providerName is the value of --provider for this provider.
const providerName = "http"

// digest returns a prefix of a hash: enough to distinguish two secrets, and too little to find one.
func digest(secret []byte) string {
	sum := sha256.Sum256(append([]byte("redrain receiver "), secret...))
	return hex.EncodeToString(sum[:6])
}

// Receiver implements withdraw.Provider.
func (p *Provider) Receiver() withdraw.Receiver { return p.named }

// Close closes idle connections.
func (p *Provider) Close() { p.to.Close() }

// request is the body of a request. It must not differ from try to try, because a receiver may compare.
type request struct {
	ID        string     `json:"id"`
	User      string     `json:"user"`
	Amount    rain.Money `json:"amount"`
	Currency  string     `json:"currency"`
	CreatedAt int64      `json:"created_at"`
}

// Pay implements withdraw.Provider.
func (p *Provider) Pay(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	body, err := json.Marshal(request{ID: pay.Key, User: pay.User, Amount: pay.Amount, Currency: currency,
		CreatedAt: pay.CreatedAt})
	if err != nil {
		return withdraw.Answer{}, err
	}
	header := http.Header{"Idempotency-Key": {pay.Key}}
	if pay.Request != "" {
		header.Set(requestid.Header, pay.Request)
	}
	said, err := p.to.Post(ctx, pay.Key, body, header)
	if err != nil {
		return withdraw.Answer{}, err
	}
	answer, err := read(pay.Key, said.Status, said.Body)
	answer.After = said.RetryAfter(time.UnixMilli(p.clock()))
	if err != nil && answer.After > 0 {
		err = &withdraw.LaterError{After: answer.After, Err: err}
	}
	return answer, err
}

// maxAnswer is the size limit of an answer, in bytes.
const maxAnswer = 64 << 10

// answer is the body of an answer. Other fields are ignored.
type answer struct {
	ID        string `json:"id"`        // of the payment; an answer without it is ignored
	Reference string `json:"reference"` // the receiver's own id of the payment
	Refused   bool   `json:"refused"`
	Reason    string `json:"reason"` // of a refusal, for the player; or of the wait
	Action    *struct {
		URL       string `json:"url"`
		Data      string `json:"data"`
		ExpiresAt int64  `json:"expires_at"` // Unix ms
	} `json:"action"` // required of the player first
}

// read interprets an HTTP answer:
//
//	200 or 201 with {"id":…}            paid, if the id is this payment's
//	202 with {"id":…}                   the receiver has it; ask again
//	202 with {"id":…,"action":{…}}      the same, and the player must act first
//	422 with {"id":…,"refused":true}    refused for good, if the id is this payment's
//	anything else                       unknown
//
// A receiver's 400, 401, 403, 404, 409 or 410 returns no money. A wrong path, a wrong secret or a proxy answers so,
// too, about payments that an earlier try may have made. A bare 200 is not paid: Go's server sends it for a handler
// that gave up, a proxy for a page of its own.
func read(id string, status int, body []byte) (withdraw.Answer, error) {
	var a answer
	body = bytes.TrimSpace(body)
	known := []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusUnprocessableEntity}
	switch {
	case !slices.Contains(known, status):
		return withdraw.Answer{}, unclear(status, body, "is neither paid nor refused")
	case len(body) > maxAnswer:
		return withdraw.Answer{}, unclear(status, body, "is too long")
	}
	if err := json.Unmarshal(body, &a); err != nil {
		a = answer{} // ignore a partial object
	}
	if a.ID != id {
		return withdraw.Answer{}, unclear(status, body, "does not name the payment")
	}
	said := withdraw.Answer{Reference: a.Reference, Reason: a.Reason}
	switch refusal := status == http.StatusUnprocessableEntity; {
	case refusal != a.Refused:
		return withdraw.Answer{}, unclear(status, body, "says neither that it is paid nor that it never will be")
	case refusal:
		said.Status = withdraw.Refused
	case status == http.StatusAccepted && a.Action != nil:
		said.Status = withdraw.ActionRequired
		said.Action = ledger.Action{URL: a.Action.URL, Data: a.Action.Data, Until: a.Action.ExpiresAt}
	case status == http.StatusAccepted:
		said.Status = withdraw.Pending
	case a.Action != nil:
		return withdraw.Answer{}, unclear(status, body, "says that it is paid, and that the player must act")
	default:
		said.Status = withdraw.Paid
	}
	return said, nil
}

// shown is the length limit of an answer's body in an error, in bytes.
const shown = 200

func unclear(status int, body []byte, what string) error {
	return fmt.Errorf("the provider's answer %s: status %d, %q", what, status, body[:min(len(body), shown)])
}
