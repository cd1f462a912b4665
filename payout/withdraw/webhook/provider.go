package webhook

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"redrain/internal/signed"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// currency is what an amount is counted in: minor units of it.
const currency = "CNY"

// Options are the settings of a Provider. URL and Secret are required.
type Options struct {
	URL    string // where payments are asked for: https, or http on this machine
	Secret string // whsec_… , known to the receiver too
	// Account names whose money the receiver pays for who knows the secret, so that a new secret of the same account is
	// the same receiver. Empty: each secret is an account of its own.
	Account string
	Clock   rain.Clock // Unix ms, for the timestamps; required
	// TLS is for tests, which have an authority of their own. Nil: the system's authorities (SSL_CERT_FILE and
	// SSL_CERT_DIR name others), TLS 1.2 at least.
	TLS *tls.Config
}

// Provider asks one receiver for payments. It is a withdraw.Provider.
type Provider struct {
	named withdraw.Receiver
	clock rain.Clock
	to    *signed.Sender
}

// New makes a provider. Nothing is sent.
func New(o Options) (*Provider, error) {
	to, err := signed.NewSender(signed.SenderOptions{URL: o.URL, Secret: o.Secret, Clock: o.Clock, Most: maxAnswer,
		TLS: o.TLS})
	if err != nil {
		return nil, err
	}
	key, err := signed.ParseSecret(o.Secret)
	if err != nil {
		return nil, err
	}
	return &Provider{named: receiver(o, key), clock: o.Clock, to: to}, nil
}

// receiver names the receiver without repeating what may be secret: passwords and queries only show as a digest.
func receiver(o Options, key []byte) withdraw.Receiver {
	u, err := url.Parse(o.URL)
	if err != nil {
		return withdraw.Receiver{Provider: providerName} // New has refused it before
	}
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

// providerName is what this kind of provider is called in --provider.
const providerName = "http"

// digest is enough of a hash to tell two secrets apart, and too little to find one.
func digest(secret []byte) string {
	sum := sha256.Sum256(append([]byte("redrain receiver "), secret...))
	return hex.EncodeToString(sum[:6])
}

// Receiver implements withdraw.Provider.
func (p *Provider) Receiver() withdraw.Receiver { return p.named }

// Close lets go of idle connections.
func (p *Provider) Close() { p.to.Close() }

// request is what is asked. It must not differ from try to try: a receiver may compare.
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
	said, err := p.to.Post(ctx, pay.Key, body, http.Header{"Idempotency-Key": {pay.Key}})
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
