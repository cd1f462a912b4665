package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/payout/ledger"
)

// TestWhatPlayersMayNot: each limit has its code, and says what is allowed, and the hour's when.
func TestWhatPlayersMayNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit  ledger.LimitError
		status int
		code   string
		says   string
		after  string
	}{
		{ledger.LimitError{Limit: ledger.LimitLeast, Money: 1000}, 422, "withdrawal_too_small", "10.00", ""},
		{ledger.LimitError{Limit: ledger.LimitDay, Money: 20_000}, 409, "daily_limit", "200.00", ""},
		{ledger.LimitError{Limit: ledger.LimitHour, Count: 3, After: 90*time.Second + 1}, 429, "hourly_limit", "most 3",
			"91"},
		{ledger.LimitError{Limit: ledger.LimitGuests}, 403, "guests_cannot_withdraw", "sign in", ""},
	} {
		w := httptest.NewRecorder()
		fail(w, httptest.NewRequest(http.MethodPost, "/x", nil), slog.New(slog.DiscardHandler),
			fmt.Errorf("withdrawal w1: %w", &c.limit))
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) || !strings.Contains(body, c.says) ||
			w.Header().Get("Retry-After") != c.after {
			t.Errorf("%+v: %d %s, Retry-After %q", c.limit, w.Code, body, w.Header().Get("Retry-After"))
		}
	}
}
