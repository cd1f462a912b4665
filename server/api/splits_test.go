package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// preview asks a server that has nothing else for a split.
func preview(ctx context.Context, a *API, body string) *httptest.ResponseRecorder {
	return ask(a, "viewer", "POST", "/splits/preview", body, func(r *http.Request) { *r = *r.WithContext(ctx) })
}

func TestPreviewSplit(t *testing.T) {
	a := newAPI(Options{Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
	for name, c := range map[string]struct {
		body string
		want func(s rain.SplitSummary) bool
	}{
		"the defaults": {`{"budget":1000,"packets":10}`, func(s rain.SplitSummary) bool {
			return s.Packets == 10 && s.Mean == 100 && s.Deviation > 0 && s.Smallest >= 1 && s.Median <= s.Largest
		}},
		"list": {`{"budget":6,"packets":3,"split":"list","amounts":[1,2,3]}`, func(s rain.SplitSummary) bool {
			return s.Mean == 2 && s.Smallest == 1 && s.Median == 2 && s.Largest == 3 && len(s.Histogram) == 3
		}},
	} {
		w := preview(t.Context(), a, c.body)
		var got rain.SplitSummary
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || !c.want(got) {
			t.Errorf("%s: %d %s (%v)", name, w.Code, w.Body, err)
		}
		held := 0
		for _, bin := range got.Histogram {
			held += bin.Packets
		}
		if held != got.Packets || held == 0 {
			t.Errorf("%s: the histogram has %d of %d packets", name, held, got.Packets)
		}
	}
	one := preview(t.Context(), a, `{"budget":1000000,"packets":1000}`).Body.String()
	if again := preview(t.Context(), a,
		`{"budget":1000000,"packets":1000}`).Body.String(); again == one {
		t.Errorf("two previews had the same seed: %s", one)
	}
}

// TestPreviewSplitRefusals: the fields' faults are those of a campaign.
func TestPreviewSplitRefusals(t *testing.T) {
	a := newAPI(Options{Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
	for body, says := range map[string]string{
		`{}`: `"packets"`, `{"budget":5,"packets":10}`: "less than packets × min",
		`{"budget":500,"packets":10,"split":"fair"}`: "double_mean, low_variance, gaussian, even, list",
		`{"budget":500,"packets":10,"name":"Gala"}`:  `"name"`,
	} {
		wantAnswer(t, preview(t.Context(), a, body), http.StatusUnprocessableEntity, says)
	}
}

// TestPreviewsTakeTurns: one at a time, and who no longer waits gets no turn.
func TestPreviewsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(Options{Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
		testenv.Must(t, a.previews.Acquire(t.Context(), 1)) // one is being made
		waits := time.AfterFunc(time.Second, func() { a.previews.Release(1) })
		late, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		wantAnswer(t, preview(late, a, `{"budget":1000,"packets":10}`), http.StatusServiceUnavailable, "other previews")
		wantAnswer(t, preview(t.Context(), a, `{"budget":1000,"packets":10}`), http.StatusOK, `"packets":10`)
		if waits.Stop() || !a.previews.TryAcquire(1) {
			t.Error("a second one was made at the same time, or the turn was not released")
		}
	})
}
