package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/grab/store"
	"redrain/payout/export"
	"redrain/server/api"
	"redrain/server/timeout"
	"redrain/web"
)

// buildHTTP makes what serves HTTP.
func (s *Server) buildHTTP() {
	o := api.Options{
		Commands: s.service, Rebuilder: s.rebuilder, Proofs: s.proofs,
		Answers: s.ledger.Answers, Audit: s.ledger.Audit, Roots: s.ledger.Roots,
		Statements: s.ledger.Statements, Claims: s.ledger.Claims,
		DeadLetters: s.ledger.DeadLetters, Approvals: s.ledger.Approvals.Above(s.secondPersonAbove()),
		Failing: s.ledger.Poster, History: s.ledger.Campaigns, Sponsors: s.ledger.Sponsors,
		Withdrawals: s.ledger.Withdrawals.Within(s.playerLimits()), Seals: s.ledger.Seals, Wins: s.confirmer,
		Exports:   export.New(s.back.sql, s.clock.Now),
		Outbox:    s.outbox,
		Sanctions: s.ledger.Sanctions, TellSanction: s.tellSanction,
		Limits:    store.NewLimits(s.redis),
		Campaigns: s.registry, Stats: s.figures, Events: s.events, Notifier: s.notifier, Players: s.players,
		Operators: s.operators, SignIn: s.signIn(), WakePayer: s.payer.Wake,
		TellWithdrawn: s.newsOfWithdrawal,
		JoinURL:       s.lanURL, Version: ReadBuild().Version, InProcess: s.cfg.InProcess(),
		Guests:    s.cfg.GuestsAllowed(),
		GuestRate: s.cfg.GuestRate, AllowedOrigins: s.cfg.AllowedOrigins, Guard: s.guard, Clock: s.clock.Now,
		Log: s.log, Registerer: s.metrics,
	}
	if s.demo != nil {
		o.Demo = s.demo.Campaign
	}
	s.health = &health{checks: s.back.checks(), proved: s.proofs.Proved, full: s.gateway.Full, log: s.log}
	s.http = &http.Server{
		Handler:           s.handler(api.New(o)),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// handler is everything that is served over HTTP.
func (s *Server) handler(a *api.API) http.Handler {
	mux := http.NewServeMux()
	if s.cfg.AdminListen == "" {
		s.mountHealth(mux)
	}
	a.Mount(mux)
	if s.cfg.Has(RoleGateway) {
		mux.Handle("/ws", api.RequireUpgrade(s.gateway))
	}
	mux.Handle("/", web.Handler(web.Options{SignIn: s.tokenEndpoint}))
	return bounded(secure(mux))
}

// mountHealth adds what monitoring asks for.
func (s *Server) mountHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
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
