package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redrain/server/api"
)

// readyWithin is how long a back end may take to answer a readiness check.
const readyWithin = 2 * time.Second

// health answers /healthz and /readyz.
type health struct {
	checks   map[string]func(context.Context) error // back end → does it answer
	draining atomic.Bool
	log      *slog.Logger
}

// live says that the process lives: it answers.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

type readiness struct {
	Status  string            `json:"status"`
	Missing []string          `json:"missing,omitempty"`
	Errors  map[string]string `json:"errors,omitempty"`
}

// ready says whether every back end answers, and if not, which one does not.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if h.draining.Load() {
		api.WriteJSON(w, http.StatusServiceUnavailable, readiness{Status: "draining"})
		return
	}
	failed := h.ask(r.Context())
	if len(failed) == 0 {
		api.WriteJSON(w, http.StatusOK, readiness{Status: "ready"})
		return
	}
	answer := readiness{Status: "not ready", Errors: failed}
	for name := range failed {
		answer.Missing = append(answer.Missing, name)
	}
	slices.Sort(answer.Missing)
	h.log.Warn("not ready", "missing", answer.Missing)
	api.WriteJSON(w, http.StatusServiceUnavailable, answer)
}

// ask asks every back end at once.
func (h *health) ask(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		failed = map[string]string{}
	)
	for name, check := range h.checks {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[name] = "does not answer"
				h.log.Debug("readiness", "backend", name, "err", err)
			}
		})
	}
	wg.Wait()
	return failed
}
