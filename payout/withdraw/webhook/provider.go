package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

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

// ErrBadURL is the error of an address that is not safe. It does not repeat it: there may be a password in it.
var ErrBadURL = errors.New("give an https URL; http only for this machine (localhost, 127.0.0.1, [::1]), because " +
	"whoever is on the way could answer \"paid\"")

// CheckURL tells whether payments can be asked for at an address.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Fragment != "" {
		return ErrBadURL
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && here {
		return nil
	}
	return ErrBadURL
}

// Provider asks one receiver for payments. It is a withdraw.Provider.
type Provider struct {
	url   string
	named withdraw.Receiver
	key   []byte
	clock rain.Clock
	http  *http.Client
}

// New makes a provider. Nothing is sent.
func New(o Options) (*Provider, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	key, err := ParseSecret(o.Secret)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.TLSClientConfig = o.TLS
	if o.TLS == nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.MaxIdleConnsPerHost = 16
	transport.MaxResponseHeaderBytes = maxAnswer
	return &Provider{url: o.URL, named: receiver(o, key), key: key, clock: o.Clock, http: &http.Client{
		Transport: transport,
		// A redirect of a POST loses its body or sends money's request to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
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
func (p *Provider) Close() { p.http.CloseIdleConnections() }

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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return withdraw.Answer{}, err
	}
	timestamp := strconv.FormatInt(p.clock()/1000, 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "redrain")
	req.Header.Set(headerKey, pay.Key)
	req.Header.Set(headerID, pay.Key)
	req.Header.Set(headerTimestamp, timestamp)
	req.Header.Set(headerSignature, signaturePrefix+base64.StdEncoding.EncodeToString(sign(p.key, pay.Key, timestamp,
		body)))
	resp, err := p.http.Do(req)
	if err != nil {
		return withdraw.Answer{}, withoutAddress(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return withdraw.Answer{}, fmt.Errorf("the answer with status %d broke off: %w", resp.StatusCode,
			withoutAddress(err))
	}
	answer, err := read(pay.Key, resp.StatusCode, data)
	answer.After = retryAfter(resp.Header.Get("Retry-After"), time.UnixMilli(p.clock()))
	if err != nil && answer.After > 0 {
		err = &withdraw.LaterError{After: answer.After, Err: err}
	}
	return answer, err
}

// withoutAddress leaves the address out, in which there may be a password.
func withoutAddress(err error) error {
	u, ok := errors.AsType[*url.Error](err)
	switch {
	case ok && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time: %w", u.Err)
	case ok:
		return fmt.Errorf("no answer: %w", u.Err)
	}
	return err
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
