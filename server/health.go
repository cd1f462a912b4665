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
	"redrain/server/campaigns"
)

// readyWithin is how long a back end may take to answer a readiness check.
const readyWithin = 2 * time.Second

// health answers /healthz and /readyz.
type health struct {
	checks   map[string]func(context.Context) error // back end → does it answer
	proved   func() *campaigns.Proved               // when the books were proved last; nil: this node does not know
	full     func() bool                            // no new connections should come here
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
	Books   *provedWhen       `json:"books,omitempty"`
}

// provedWhen is when the books were proved. A proof that is too old does not take the node out of service: it is an
// alarm, and players can play.
type provedWhen struct {
	ProvedAt int64 `json:"proved_at"` // Unix ms, every row of all books; 0: not yet
	Oldest   int64 `json:"oldest"`    // Unix ms, the live campaign that was proved the longest ago; 0: there is none
	Stale    bool  `json:"stale"`     // one of these is too long ago
}

// books is when the books were proved, as far as this node knows.
func (h *health) books() *provedWhen {
	if h.proved == nil {
		return nil
	}
	is := h.proved()
	if is == nil {
		return nil
	}
	return &provedWhen{ProvedAt: is.Everything.ProvedAt, Oldest: is.Oldest, Stale: is.Stale}
}

// ready says whether every back end answers, and if not, which one does not.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if h.draining.Load() {
		api.WriteJSON(w, http.StatusServiceUnavailable, readiness{Status: "draining"})
		return
	}
	failed := h.ask(r.Context())
	if len(failed) == 0 && h.full() {
		// Who is here stays. A load balancer sends those who come now to other nodes.
		api.WriteJSON(w, http.StatusServiceUnavailable, readiness{Status: "full", Books: h.books()})
		return
	}
	if len(failed) == 0 {
		api.WriteJSON(w, http.StatusOK, readiness{Status: "ready", Books: h.books()})
		return
	}
	answer := readiness{Status: "not ready", Errors: failed, Books: h.books()}
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
