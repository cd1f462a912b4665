package providertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/payout/withdraw"
)

// serve runs a receiver until the test ends.
func serve(t *testing.T, receiver http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(receiver)
	// it logs connections that are cut on purpose
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// client is the HTTP client of the providers in these tests.
type client struct {
	base string // where the receiver is
	key  string // a secret
	http *http.Client
}

func newClient(t *testing.T, base, key string) client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return client{base: base, key: key, http: &http.Client{Transport: transport}}
}

// call sends one request. It decodes the answer into out if the status is 200 or known. Any other status is an error.
// For too many requests it is a LaterError.
func (c client) call(ctx context.Context, method, path, body string, out any, known ...int) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, fmt.Errorf("the answer broke off: %w", err)
	}
	if resp.StatusCode != http.StatusOK && !slices.Contains(known, resp.StatusCode) {
		err := fmt.Errorf("status %d: %.200q", resp.StatusCode, data)
		if resp.StatusCode == http.StatusTooManyRequests {
			seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if it is missing
			err = &withdraw.LaterError{After: time.Duration(max(seconds, 1)) * time.Second, Err: err}
		}
		return resp.StatusCode, err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.StatusCode, fmt.Errorf("status %d without JSON: %w", resp.StatusCode, err)
	}
	return resp.StatusCode, nil
}

// say answers with JSON.
func say(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the sender has gone
}
