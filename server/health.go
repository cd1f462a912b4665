package server

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redrain/server/api"
	"redrain/server/campaigns"
)

// readyWithin is the limit of a back end's answer to a readiness check.
const readyWithin = 2 * time.Second

// health answers /healthz and /readyz.
type health struct {
	checks   map[string]func(context.Context) error // by back end; an error if it does not answer
	proved   func() *campaigns.Proved               // the last reconciliations; nil if this node does not know them
	full     func() bool                            // reports that the node should get no new connections
	draining atomic.Bool
	log      *slog.Logger
}

// live answers that the process is alive.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

type readiness struct {
	Status  string            `json:"status"`
	Missing []string          `json:"missing,omitempty"`
	Errors  map[string]string `json:"errors,omitempty"`
	Books   *provedWhen       `json:"books,omitempty"`
}

// provedWhen has the times of the last reconciliations. An old one raises an alarm, and the node stays in service:
// players can play.
type provedWhen struct {
	ProvedAt int64 `json:"proved_at"` // Unix ms of the last full one; 0: not yet
	Oldest   int64 `json:"oldest"`    // Unix ms, of the live campaign reconciled the longest ago; 0: no campaign
	Stale    bool  `json:"stale"`     // one of these is too old
}

// ready answers whether every back end answers, and names those that do not.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if h.draining.Load() {
		api.WriteJSON(w, http.StatusServiceUnavailable, readiness{Status: "draining"})
		return
	}
	status, answer := http.StatusServiceUnavailable, readiness{Errors: h.ask(r.Context())}
	if is := h.proved(); is != nil {
		answer.Books = &provedWhen{ProvedAt: is.Everything.ProvedAt, Oldest: is.Oldest, Stale: is.Stale}
	}
	switch {
	case len(answer.Errors) > 0:
		answer.Status, answer.Missing = "not ready", slices.Sorted(maps.Keys(answer.Errors))
		h.log.Warn("not ready", "missing", answer.Missing)
	case h.full(): // connected players stay; a load balancer sends new ones to other nodes
		answer.Status = "full"
	default:
		status, answer.Status = http.StatusOK, "ready"
	}
	api.WriteJSON(w, status, answer)
}

// ask checks all back ends at once.
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
