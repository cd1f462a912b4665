package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
	"redrain/rain"
)

// preview asks a server that has nothing else for a split.
func preview(ctx context.Context, p previews, body string) *httptest.ResponseRecorder {
	a := New(Options{Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
	a.previews = p
	return ask(a, "viewer", "POST", "/splits/preview", body, func(r *http.Request) { *r = *r.WithContext(ctx) })
}

func TestPreviewSplit(t *testing.T) {
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
		w := preview(t.Context(), newPreviews(), c.body)
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
	one := preview(t.Context(), newPreviews(), `{"budget":1000000,"packets":1000}`).Body.String()
	if again := preview(t.Context(), newPreviews(),
		`{"budget":1000000,"packets":1000}`).Body.String(); again == one {
		t.Errorf("two previews had the same seed: %s", one)
	}
}

// TestPreviewSplitRefusals: the fields' faults are those of a campaign.
func TestPreviewSplitRefusals(t *testing.T) {
	for body, says := range map[string]string{
		`{}`: `"packets"`, `{"budget":5,"packets":10}`: "less than packets × min",
		`{"budget":500,"packets":10,"split":"fair"}`: "double_mean, low_variance, gaussian, even, list",
		`{"budget":500,"packets":10,"name":"Gala"}`:  `"name"`,
	} {
		wantAnswer(t, preview(t.Context(), newPreviews(), body), http.StatusUnprocessableEntity, says)
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
		testenv.WantErr(t, testenv.Err(p.make(ctx, &split)), context.Canceled, "the client has gone")
		late, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		wantAnswer(t, preview(late, p, `{"budget":1000,"packets":10}`), http.StatusServiceUnavailable, "other previews")

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
		testenv.Must(t, <-made)
		testenv.Equal(t, len(p), 0, "the turn was not given back")
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
