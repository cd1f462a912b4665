package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// newAPI returns an API without limits and bans.
func newAPI(o Options) *API {
	if o.Limits == nil {
		o.Limits = &tallies{}
	}
	if o.MayPlay == nil {
		o.MayPlay = func(context.Context, *rain.Campaign, string, string) error { return nil }
	}
	return New(o)
}

// tallies allows a number of requests of each limit. A limit without a number allows all.
type tallies struct{ most map[string]int }

func (l *tallies) Allow(_ context.Context, name, _ string, _, _ float64) (bool, time.Duration, error) {
	most, limited := l.most[name]
	if limited {
		l.most[name]--
	}
	return !limited || most > 0, time.Second, nil
}

// by returns a request of a caller to a handler, and its answer.
func by(who caller, r *http.Request) (*request, *httptest.ResponseRecorder) {
	w := httptest.NewRecorder()
	return &request{Request: r, caller: who, w: w}, w
}

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
