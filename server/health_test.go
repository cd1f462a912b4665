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

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/server/campaigns"
)

// TestReady: a node is ready if every back end answers in time. The answer names those that do not, and the log has the
// errors. A node that ends is never ready.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fine := func(context.Context) error { return nil }
		full := false
		h := &health{log: slog.New(slog.DiscardHandler), checks: map[string]func(context.Context) error{"redis": fine},
			full: func() bool { return full }, proved: func() *campaigns.Proved { return nil }}
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
		testenv.Equal(t, w.Code, http.StatusOK, "alive")
	})
}

// TestReadyTellsWhenTheBooksWereProved: where the node knows, whatever else it answers; and a proof that is too old is
// said, but takes no node out of service.
func TestReadyTellsWhenTheBooksWereProved(t *testing.T) {
	t.Parallel()
	var proved *campaigns.Proved
	full := false
	h := &health{log: slog.New(slog.DiscardHandler), full: func() bool { return full },
		proved: func() *campaigns.Proved { return proved }, checks: map[string]func(context.Context) error{}}
	check := func(status int, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ready(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got := strings.TrimSpace(w.Body.String()); w.Code != status || got != want {
			t.Errorf("%d %s, want %d %s", w.Code, got, status, want)
		}
	}
	check(http.StatusOK, `{"status":"ready"}`) // it has not asked yet
	proved = &campaigns.Proved{}
	check(http.StatusOK, `{"status":"ready","books":{"proved_at":0,"oldest":0,"stale":false}}`)
	proved = &campaigns.Proved{Everything: ledger.Proof{ProvedAt: 3000}, Oldest: 2000, Stale: true}
	const books = `"books":{"proved_at":3000,"oldest":2000,"stale":true}}`
	check(http.StatusOK, `{"status":"ready",`+books)
	full = true
	check(http.StatusServiceUnavailable, `{"status":"full",`+books)
	h.checks["redis"] = func(context.Context) error { return errors.New("refused") }
	check(http.StatusServiceUnavailable,
		`{"status":"not ready","missing":["redis"],"errors":{"redis":"does not answer"},`+books)
}
