package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/auth"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/server/campaigns"
)

// slowProofs take some seconds for a full proof, or fail after them.
type slowProofs struct {
	Proofs
	seconds int
	err     error
	ended   chan error
}

func (p slowProofs) Full(ctx context.Context, progress func(reconcile.Progress)) (reconcile.Books, error) {
	for n := range p.seconds {
		progress(reconcile.Progress{Part: "the accounts", Done: int64(n)})
		select {
		case <-ctx.Done():
			p.ended <- ctx.Err()
			return reconcile.Books{}, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return reconcile.Books{Balanced: true}, p.err
}

// TestAFullProofTellsHowFarItHasCome: for longer than any answer may stand still; a second one is refused, one that
// fails in the middle is cut, and one whose reader goes away ends.
func TestAFullProofTellsHowFarItHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, p slowProofs) (w *httptest.ResponseRecorder, cut bool) {
			mux := http.NewServeMux()
			New(Options{Proofs: p, Operators: auth.NewOperators("operator", "viewer"), Log: paytest.Quiet}).Mount(mux)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, Root+"/reconciliation/full", nil)
			r.Header.Set("Authorization", "Bearer viewer")
			w = httptest.NewRecorder()
			defer func() { cut = recover() != nil }()
			mux.ServeHTTP(w, r)
			return w, false
		}
		w, cut := ask(t.Context(), slowProofs{seconds: 100})
		lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if cut || w.Code != http.StatusOK || len(lines) < 99 || !strings.Contains(lines[50], `"part":"the accounts"`) ||
			!strings.HasPrefix(lines[len(lines)-1], `{"books":{"balanced":true`) {
			t.Errorf("%d, cut: %v, %q", w.Code, cut, lines)
		}
		w, _ = ask(t.Context(), slowProofs{err: campaigns.ErrFullProof})
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"proof_running"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w, cut = ask(t.Context(), slowProofs{seconds: 3, err: errors.New("the database is gone")})
		if !cut || strings.Contains(w.Body.String(), "books") {
			t.Errorf("cut: %v, %s", cut, w.Body)
		}
		ctx, leave := context.WithTimeout(t.Context(), 5*time.Second)
		defer leave()
		ended := make(chan error, 1)
		ask(ctx, slowProofs{seconds: 1000, ended: ended})
		if err := <-ended; err == nil {
			t.Error("the proof goes on for nobody")
		}
	})
}
