package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/servertest"
	"redrain/server/timeout"
)

// TestAHandlerThatPanics is answered as a fault of ours, with its stack in the log; the next request is served.
func TestAHandlerThatPanics(t *testing.T) {
	var log servertest.Log
	logger := slog.New(slog.NewTextHandler(&log, nil))
	recoverer, err := loop.NewRecoverer(nil, logger, nil)
	testenv.Must(t, err)
	a := newAPI(Options{Recoverer: recoverer, Log: logger})
	broken := true
	rt := route{method: http.MethodGet, path: "/x", need: anyone,
		handle: func(*request) (any, error) {
			if broken {
				panic("a torn handler")
			}
			return "ok", nil
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
	a := newAPI(Options{})
	for _, rt := range a.routes() {
		var within time.Duration
		rt.need = anyone
		rt.handle = func(q *request) (any, error) {
			if until, ok := q.Context().Deadline(); ok {
				within = time.Until(until)
			}
			return "ok", nil
		}
		a.serve(httptest.NewRecorder(), httptest.NewRequest(rt.method, "/", nil), rt)
		streams := slices.Contains([]string{"/events", "/campaigns/{id}/claims", "/campaigns/{id}/export",
			"/reconciliation/full"}, rt.path)
		if streams != (within == 0) || within > max(timeout.Rebuild, timeout.Proof) {
			t.Errorf("%s %s may take %s", rt.method, rt.path, within)
		}
		// A campaign has up to 100,000,000 packets, and a proof reads the row of each.
		if strings.HasSuffix(rt.path, "/reconciliation") && within < 59*time.Minute {
			t.Errorf("%s is cut after %s, and redrain reconcile waits an hour for it", rt.path, within)
		}
	}
}

// tornLedger panics in the middle of a list.
type tornLedger struct{ claimList }

func (tornLedger) EachClaim(_ context.Context, _ string, _ ledger.ClaimFilter, yield func(ledger.Claim) error) error {
	for range 1000 {
		if err := yield(ledger.Claim{Claim: "c1-1", User: "u1"}); err != nil {
			return err
		}
	}
	panic("a torn ledger")
}

// TestAPanicCutsAnAnswerThatHasBegun: a reader of half a list must not take it for a whole one.
func TestAPanicCutsAnAnswerThatHasBegun(t *testing.T) {
	a := newAPI(Options{Claims: tornLedger{}, Log: slog.New(slog.DiscardHandler)})
	rt := route{method: http.MethodGet, path: "/x", need: anyone, within: unlimited,
		handle: func(q *request) (any, error) {
			return nil, a.claimsCSV(q, &rain.Campaign{ID: "c1"}, ledger.ClaimFilter{}, nil)
		}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, rt) }))
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	testenv.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	list, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err == nil || strings.Contains(string(list), "internal") {
		t.Errorf("%s, %v, and at the end %q", resp.Status, err, list[max(0, len(list)-200):])
	}
}
