package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"redrain/internal/auth"
	"redrain/rain"
)

// preview asks a server that has nothing else for a split.
func preview(ctx context.Context, p previews, token, body string) *httptest.ResponseRecorder {
	a := New(Options{Operators: auth.NewOperators("op", "view"), Log: slog.New(slog.DiscardHandler)})
	a.previews = p
	mux := http.NewServeMux()
	a.Mount(mux)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/splits/preview", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestPreviewSplit(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want func(s rain.SplitSummary) bool
	}{
		"the defaults": {`{"budget":1000,"packets":10}`, func(s rain.SplitSummary) bool {
			return s.Packets == 10 && s.Mean == 100 && s.Deviation > 0 && s.Smallest >= 1 && s.Median <= s.Largest
		}},
		"gaussian": {`{"budget":100000,"packets":1000,"split":"gaussian","min":50,"max":150}`,
			func(s rain.SplitSummary) bool {
				return s.Deviation > 14 && s.Deviation < 19 && s.Smallest >= 50 && s.Largest <= 150 &&
					len(s.Histogram) > 10
			}},
		"low variance": {`{"budget":100000,"packets":1000,"split":"low_variance"}`, func(s rain.SplitSummary) bool {
			return s.Smallest >= 99 && s.Deviation > 0 && s.Deviation < 2 // whatever the seed
		}},
		"even": {`{"budget":1001,"packets":10,"split":"even"}`, func(s rain.SplitSummary) bool {
			return s.Mean == 100.1 && s.Deviation == 0.3 && s.Smallest == 100 && s.Median == 100 && s.Largest == 101
		}},
		"list": {`{"budget":6,"packets":3,"split":"list","amounts":[1,2,3]}`, func(s rain.SplitSummary) bool {
			return s.Mean == 2 && s.Smallest == 1 && s.Median == 2 && s.Largest == 3 && len(s.Histogram) == 3
		}},
	} {
		w := preview(t.Context(), newPreviews(), "view", c.body)
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
	one := preview(t.Context(), newPreviews(), "op", `{"budget":1000000,"packets":1000}`).Body.String()
	if again := preview(t.Context(), newPreviews(), "op",
		`{"budget":1000000,"packets":1000}`).Body.String(); again == one {
		t.Errorf("two previews had the same seed: %s", one)
	}
}

// TestPreviewSplitRefusals: the fields' faults are those of a campaign.
func TestPreviewSplitRefusals(t *testing.T) {
	for _, c := range []struct {
		token, body string
		status      int
		says        []string
	}{
		{"view", `{}`, 422, []string{`"budget"`, `"packets"`}},
		{"view", `{"budget":5,"packets":10}`, 422, []string{`"budget"`, "less than packets × min"}},
		{"view", `{"budget":500,"packets":10,"max":49}`, 422, []string{`"budget"`, "more than packets × max"}},
		{"view", `{"budget":500,"packets":10,"min":0}`, 422, []string{`"min"`}},
		{"view", `{"budget":500,"packets":10,"split":"fair"}`, 422,
			[]string{`"split"`, "double_mean, low_variance, gaussian, even, list"}},
		{"view", `{"budget":500,"packets":2,"split":"list","amounts":[1,2]}`, 422, []string{`"amounts"`}},
		{"view", `{"budget":500,"packets":100000001}`, 422, []string{`"packets"`}},
		{"view", `{"budget":500,"packets":10,"name":"Gala"}`, 422, []string{`"name"`}},
		{"view", `{"budget":`, 400, []string{`"malformed"`}},
		{"player", `{"budget":500,"packets":10}`, 401, []string{`"unauthorized"`}},
	} {
		w := preview(t.Context(), newPreviews(), c.token, c.body)
		for _, s := range c.says {
			if w.Code != c.status || !strings.Contains(w.Body.String(), s) {
				t.Errorf("%s: %d %s, want %d and %s", c.body, w.Code, w.Body, c.status, s)
			}
		}
	}
}

// TestPreviewsTakeTurns: one at a time, and who no longer waits gets no turn.
func TestPreviewsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPreviews()
		p <- struct{}{} // one is being made
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		split := rain.DefaultSplit()
		split.Budget, split.Packets = 1_000, 10
		if _, err := p.make(ctx, &split); !errors.Is(err, context.Canceled) {
			t.Errorf("the client has gone: %v", err)
		}
		late, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		if w := preview(late, p, "view", `{"budget":1000,"packets":10}`); w.Code != http.StatusServiceUnavailable ||
			!strings.Contains(w.Body.String(), "other previews") {
			t.Errorf("the request has waited for long: %d %s", w.Code, w.Body)
		}

		made := make(chan error, 1)
		go func() {
			_, err := p.make(t.Context(), &split)
			made <- err
		}()
		synctest.Wait()
		select {
		case err := <-made:
			t.Fatalf("a second one was made at the same time (%v)", err)
		default:
		}
		<-p
		if err := <-made; err != nil {
			t.Error(err)
		}
		if len(p) != 0 {
			t.Error("the turn was not given back")
		}
	})
}

// TestPreviewEndsWithItsRequest: also where the client goes while the split is being cut.
func TestPreviewEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	split := rain.DefaultSplit()
	split.Budget, split.Packets = 1_000, 10
	for range 50 { // whether the turn or the end comes first is chance
		p := newPreviews()
		if _, err := p.make(ctx, &split); !errors.Is(err, context.Canceled) || len(p) != 0 {
			t.Fatalf("the client has gone: %v, %d turns taken", err, len(p))
		}
	}
}
