package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/server/api"
	"redrain/web"
)

// handler is everything that is served over HTTP.
func (s *Server) handler(a *api.API, players http.Handler, metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	a.Mount(mux)
	if s.cfg.Has(RoleGateway) {
		mux.Handle("/ws", api.RequireUpgrade(players))
	}
	mux.Handle("/", web.Handler())
	return secure(mux)
}

// secure sets what every answer carries.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}
