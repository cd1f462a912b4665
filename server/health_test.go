package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// TestReady: a node is ready when every back end answers in time; what is missing is named, why is in the log only; and
// a node that ends is not ready whatever answers.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fine := func(context.Context) error { return nil }
		full := false
		h := &health{log: slog.New(slog.DiscardHandler), checks: map[string]func(context.Context) error{"redis": fine},
			full: func() bool { return full }}
		check := func(status int, want string) {
			t.Helper()
			w := httptest.NewRecorder()
			h.ready(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if w.Code != status || !strings.Contains(w.Body.String(), want) ||
				strings.Contains(w.Body.String(), "10.0.0.1") {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, want)
			}
		}
		check(http.StatusOK, `"ready"`)
		full = true
		check(http.StatusServiceUnavailable, `"full"`)
		full = false
		h.checks["nats"] = func(context.Context) error { return errors.New("refused by 10.0.0.1") }
		h.checks["mysql"] = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		check(http.StatusServiceUnavailable, `"missing":["mysql","nats"]`)
		h.draining.Store(true)
		check(http.StatusServiceUnavailable, `"draining"`)
		w := httptest.NewRecorder()
		h.live(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != http.StatusOK {
			t.Errorf("alive: %d", w.Code)
		}
	})
}
