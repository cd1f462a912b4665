package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

// TestAuditOverHTTP: whoever may read gets the roots, and the answer of an audit with those that they kept.
func TestAuditOverHTTP(t *testing.T) {
	b := paytest.OnSQLite(t)
	now := time.Date(2026, 11, 23, 0, 6, 0, 0, time.UTC)
	roots := chain.NewRoots(b.DB, func() int64 { return now.UnixMilli() }) //nolint:gocritic // now goes on
	mux := http.NewServeMux()
	New(Options{Roots: roots, Operators: auth.NewOperators("operator", "viewer"), Log: paytest.Quiet}).Mount(mux)
	call := func(method, path, token, body string) (int, string) {
		r := httptest.NewRequest(method, Root+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, reference := range []string{"one", "two"} {
		_, err := b.Deposit(t.Context(), "acme", reference, 7)
		paytest.Must(t, err)
		paytest.HashAll(t, b.DB)
		_, err = roots.Take(t.Context())
		paytest.Must(t, err)
		now = now.AddDate(0, 0, 1)
	}
	status, first := call("GET", "/audit/roots?limit=1", "viewer", "")
	if status != http.StatusOK || !strings.Contains(first, `"day":"2026-11-23"`) ||
		!strings.Contains(first, `"next_cursor":"2026-11-23"`) {
		t.Error(status, first)
	}
	status, second := call("GET", "/audit/roots?cursor=2026-11-23", "operator", "")
	if status != http.StatusOK || !strings.Contains(second, `"day":"2026-11-22"`) ||
		strings.Contains(second, "next_cursor") {
		t.Error(status, second)
	}
	var page struct {
		Items json.RawMessage `json:"items"`
	}
	paytest.Must(t, json.Unmarshal([]byte(second), &page))
	noted := `{"roots":` + string(page.Items) + `}`
	for _, asked := range []string{"", `{"from":"2026-11-22"}`, noted} {
		if status, body := call("POST", "/audit/verify", "viewer", asked); status != http.StatusOK ||
			!strings.Contains(body, `"whole":true,"roots":2,`) || !strings.Contains(body, `"findings":[]`) {
			t.Errorf("%s: %d %s", asked, status, body)
		}
	}
	b.Statement(t, "DELETE FROM root WHERE day = '2026-11-22'")
	b.Statement(t, "UPDATE root SET previous = ''")
	b.Statement(t, "UPDATE deposit SET amount = 8 WHERE reference = 'two'")
	status, body := call("POST", "/audit/verify", "viewer", noted)
	for _, want := range []string{`"whole":false`, `"faults":3`, "root of 2026-11-22 was noted",
		"root of 2026-11-23 in the",
		"transaction 2 (deposit:acme:two"} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s is missing: %d %s", want, status, body)
		}
	}
	for _, c := range []struct {
		method, path, token, body string
		status                    int
		says                      string
	}{
		{"POST", "/audit/verify", "viewer", `{"from":"2026-11-21"}`, 422, "no root of 2026-11-21"},
		{"POST", "/audit/verify", "viewer", `{"root":[]}`, 422, "not a field"},
		{"POST", "/audit/verify", "viewer", `{`, 400, "malformed"},
		{"POST", "/audit/verify", "nobody", "", 401, "unauthorized"},
		{"GET", "/audit/roots", "nobody", "", 401, "unauthorized"},
	} {
		if status, body := call(c.method, c.path, c.token, c.body); status != c.status ||
			!strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
}
