package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/server/api"
	"redrain/server/timeout"
	"redrain/web"
)

// handler is everything that is served over HTTP.
func (s *Server) handler(a *api.API) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	a.Mount(mux)
	if s.cfg.Has(RoleGateway) {
		mux.Handle("/ws", api.RequireUpgrade(s.gateway))
	}
	mux.Handle("/", web.Handler())
	return bounded(secure(mux))
}

// secure sets what every answer carries.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// bounded limits how long an answer may take to be written, so that a reader that takes nothing keeps no goroutine. The
// API sets limits of its own, and a socket has none.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Where there are no deadlines (in tests) there is no slow reader either.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout.Page))
		next.ServeHTTP(w, r)
	})
}
