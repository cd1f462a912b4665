package signed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ErrBadURL refuses an unsafe address. It does not repeat it: there may be a password in it.
var ErrBadURL = errors.New("give an https URL; http only for this machine (localhost, 127.0.0.1, [::1]), because " +
	"an attacker on the network could answer in the receiver's name")

// CheckURL returns an error unless requests can be sent to an address.
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

// SenderOptions are the settings of a Sender. All but TLS and Idle are required.
type SenderOptions struct {
	URL    string // https, or http on this machine
	Secret string // whsec_…, shared with the receiver
	// NewSecret returns the newest Secret. Nil: it never changes.
	NewSecret func() string
	Clock     func() int64 // Unix ms, for the timestamps
	Most      int          // limit of an answer, in bytes
	Idle      int          // idle connections that are kept; defaults to 16
	// TLS is for tests, which have their own authority. Nil: the system's authorities (SSL_CERT_FILE and SSL_CERT_DIR
	// name others), TLS 1.2 at least.
	TLS *tls.Config
}

// Sender sends requests to one receiver. It is safe for concurrent use.
type Sender struct {
	o      SenderOptions
	client *Client
}

// NewSender returns a sender. It sends nothing yet.
func NewSender(o SenderOptions) (*Sender, error) {
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	if _, err := ParseSecret(o.Secret); err != nil {
		return nil, err
	}
	if o.NewSecret == nil {
		o.NewSecret = func() string { return o.Secret }
	}
	return &Sender{o: o, client: NewClient(ClientOptions{Most: o.Most, Idle: o.Idle, TLS: o.TLS})}, nil
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.Close() }

// Post sends a body under an id, with more headers if there are any, and reads the answer. Its errors do not repeat the
// address.
func (s *Sender) Post(ctx context.Context, id string, body []byte, more http.Header) (Answer, error) {
	key, err := ParseSecret(s.o.NewSecret())
	if err != nil {
		return Answer{}, err
	}
	timestamp := strconv.FormatInt(s.o.Clock()/1000, 10)
	header := http.Header{}
	maps.Copy(header, more)
	header.Set(headerID, id)
	header.Set(headerTimestamp, timestamp)
	header.Set(headerSignature, signaturePrefix+base64.StdEncoding.EncodeToString(sign(key, id, timestamp, body)))
	return s.client.Post(ctx, s.o.URL, body, header)
}

// ClientOptions are the settings of a Client. Most is required.
type ClientOptions struct {
	Most int         // limit of an answer, in bytes
	Idle int         // idle connections that are kept; defaults to 16
	TLS  *tls.Config // for tests; nil: see SenderOptions
}

// Client posts JSON to the operator's systems, without a signature. It is safe for concurrent use.
type Client struct {
	most int
	http *http.Client
}

// NewClient returns a client. It sends nothing yet.
func NewClient(o ClientOptions) *Client {
	return &Client{most: o.Most, http: NewHTTP(o.Idle, o.Most, o.TLS)}
}

// NewHTTP returns a client for one server. It keeps idle connections, by default 16, and accepts headers of at most
// so many bytes. A nil t is TLS 1.2 at least, with the system's authorities.
func NewHTTP(idle, most int, t *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.TLSClientConfig = t
	if t == nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.MaxIdleConnsPerHost = cmp.Or(idle, 16)
	transport.MaxResponseHeaderBytes = int64(most)
	return &http.Client{
		Transport: transport,
		// A redirect of a POST loses its body, or sends it to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is an HTTP answer with any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most one byte more than the limit, so that a longer one shows
}

// Do sends a request and reads the answer, up to a limit in bytes. Its errors do not repeat the address.
func Do(client *http.Client, req *http.Request, most int) (Answer, error) {
	resp, err := client.Do(req) //nolint:gosec // the operator chooses the address
	if err != nil {
		return Answer{}, withoutAddress(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer with status %d: %w", resp.StatusCode, withoutAddress(err))
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data}, nil
}

// Post sends a body to an address, with more headers if there are any, and reads the answer. The Content-Type defaults
// to application/json. Its errors do not repeat the address.
func (c *Client) Post(ctx context.Context, address string, body []byte, more http.Header) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, withoutAddress(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "redrain")
	maps.Copy(req.Header, more)
	return Do(c.http, req, c.most)
}

// RetryAfter returns the wait that the answer asks for; 0: none.
func (a Answer) RetryAfter(now time.Time) time.Duration {
	header := a.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// withoutAddress removes the address, which may contain a password.
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
