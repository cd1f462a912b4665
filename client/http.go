package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	apiRoot = "/api/v1"
	// createTimeout is for long requests: the creation of a campaign, which stocks all packets, and the preview of a
	// split.
	createTimeout  = 5 * time.Minute
	rebuildTimeout = 30 * time.Minute // as long as the server tries
	// reconcileTimeout is longer still, because a reconciliation reads every row.
	reconcileTimeout = time.Hour
	defaultTimeout   = 30 * time.Second
	maxProblem       = 1 << 20 // read bytes of an error answer
)

// Options are the server's address, the token and the limits of a Client.
type Options struct {
	Server string // its address, "http://host:port"; may have a path, for a server behind a proxy
	Token  string // operator's, viewer's or player's; "" sends none
	// Timeout limits one request; 0 is 30 s. It does not limit creating a campaign, previews, retries, reconciliation,
	// rebuilding and CSV.
	Timeout    time.Duration
	HTTPClient *http.Client // nil: a new client, without a timeout (see Timeout)
}

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base    string
	name    string // base without a password, for messages
	token   string
	timeout time.Duration
	http    *http.Client
}

// ErrBadServer is returned by New for an invalid address.
var ErrBadServer = errors.New("the server's address is not like http://host:port")

// New returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, ErrBadServer
	}
	c := &Client{base: strings.TrimRight(o.Server, "/"), name: u.Redacted(), token: o.Token, timeout: o.Timeout,
		http: o.HTTPClient}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.http == nil {
		//nolint:forcetypeassert // the standard library's
		c.http = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return c, nil
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// path joins the segments of a path under the API's root, each escaped.
func path(segments ...string) string {
	var b strings.Builder
	b.WriteString(apiRoot)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// request is one call. Most leave the optional fields at their zero values.
type request struct {
	method  string
	path    string
	query   url.Values
	body    any       // sent as JSON
	csv     io.Reader // sent as CSV, in place of body
	key     string    // the Idempotency-Key
	accept  string
	timeout time.Duration // 0: the client's; less than 0: none
}

// send sends the request and returns a 2xx answer with an open body. The caller calls the returned function after
// reading it. Any other answer is an *Error.
func (c *Client) send(ctx context.Context, r request) (*http.Response, func(), error) {
	cancel := context.CancelFunc(func() {})
	if timeout := r.timeout; timeout >= 0 {
		if timeout == 0 {
			timeout = c.timeout
		}
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	req, err := c.build(ctx, r)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		cancel()
		return nil, nil, c.unanswered(err)
	}
	done := func() {
		_ = resp.Body.Close() // it was only read
		cancel()
	}
	if resp.StatusCode/100 != 2 {
		defer done()
		return nil, nil, problem(resp)
	}
	return resp, done, nil
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	body, kind := r.csv, ""
	switch {
	case r.csv != nil:
		kind = "text/csv"
	case r.body != nil:
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
		}
		body, kind = bytes.NewReader(data), "application/json"
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Idempotency-Key": r.key, "Content-Type": kind,
		"Accept": cmp.Or(r.accept, "application/json")} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// unanswered adds the server's name to an error, and removes the request's URL, which is long.
func (c *Client) unanswered(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("no answer from %s: %w", c.name, err)
}

// call sends a request and decodes its answer. If the command waits for a second person, the error is a *PendingError.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	var answer T
	resp, done, err := c.send(ctx, r)
	if err != nil {
		return answer, err
	}
	defer done()
	waits := &PendingError{}
	into := any(&answer)
	if resp.StatusCode == http.StatusAccepted {
		into = &waits.Approval
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return answer, fmt.Errorf("%s %s: the answer is not what a redrain server sends: %w", r.method, r.path, err)
	}
	if resp.StatusCode == http.StatusAccepted {
		return answer, waits
	}
	return answer, nil
}

// Get reads the object at a path under /api/v1: Get[openapi.Sponsor](ctx, c, "sponsors", id). It escapes the segments.
// docs/openapi.yaml has the paths and their answers.
func Get[T any](ctx context.Context, c *Client, segments ...string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path(segments...)})
}

// Post sends a body, or none if it is nil, to a path as in Get. If a second person must confirm, the error is a
// *PendingError.
func Post[T any](ctx context.Context, c *Client, body any, segments ...string) (T, error) {
	return call[T](ctx, c, request{method: http.MethodPost, path: path(segments...), body: body})
}
