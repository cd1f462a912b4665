package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// ask sends a request with a token to an API, after change.
func ask(a *API, token, method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	a.Mount(mux)
	r := httptest.NewRequest(method, Root+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, do := range change {
		do(r)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// wantAnswer fails the test unless an answer has the status and holds every text.
func wantAnswer(t *testing.T, w *httptest.ResponseRecorder, status int, want ...string) {
	t.Helper()
	for _, text := range append(want, "") {
		if w.Code != status || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%d %s, want %d and %q", w.Code, w.Body, status, text)
		}
	}
}
