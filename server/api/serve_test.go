package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/rounds"
	"redrain/server/servertest"
	"redrain/server/timeout"
)

// TestAHandlerThatPanics is answered as a fault of ours, with its stack in the log; the next request is served.
func TestAHandlerThatPanics(t *testing.T) {
	var log servertest.Log
	logger := slog.New(slog.NewTextHandler(&log, nil))
	guard, err := rounds.NewGuard(nil, logger, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{Guard: guard, Log: logger})
	broken := true
	rt := route{method: http.MethodGet, path: "/x", access: anyone,
		handle: func(w http.ResponseWriter, _ *http.Request, _ caller) error {
			if broken {
				panic("a torn handler")
			}
			WriteJSON(w, http.StatusOK, "ok")
			return nil
		}}
	for _, want := range []int{http.StatusInternalServerError, http.StatusOK} {
		w := httptest.NewRecorder()
		a.serve(w, httptest.NewRequest(http.MethodGet, "/x", nil), rt)
		if w.Code != want || strings.Contains(w.Body.String(), "torn") {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
		broken = false
	}
	if said := log.String(); !strings.Contains(said, "a torn handler") || !strings.Contains(said, "serve_test.go") {
		t.Errorf("the log:\n%s", said)
	}
}

// TestEveryRouteHasADeadline, or is one that streams.
func TestEveryRouteHasADeadline(t *testing.T) {
	a := New(Options{})
	for _, rt := range a.routes() {
		var within time.Duration
		rt.access = anyone
		rt.handle = func(_ http.ResponseWriter, r *http.Request, _ caller) error {
			if until, ok := r.Context().Deadline(); ok {
				within = time.Until(until)
			}
			return nil
		}
		a.serve(httptest.NewRecorder(), httptest.NewRequest(rt.method, "/", nil), rt)
		streams := rt.path == "/events" || rt.path == "/campaigns/{id}/claims"
		if streams != (within == 0) || within > max(timeout.Rebuild, timeout.Proof) {
			t.Errorf("%s %s may take %s", rt.method, rt.path, within)
		}
	}
}
