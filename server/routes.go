package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/client/openapi"
	"redrain/grab/store"
	"redrain/internal/sandbox/wechat"
	"redrain/payout/export"
	"redrain/server/api"
	"redrain/server/config"
	"redrain/server/health"
	"redrain/server/history"
	"redrain/server/login"
	"redrain/server/names"
	"redrain/server/timeout"
	"redrain/web"
)

// proxyIdle is the longest wait of a proxy's connection for its next request. Usual proxies close theirs after a
// minute: the node closes later, so that no request meets a closing connection. Others have less: see package sockets.
const proxyIdle = 75 * time.Second

// buildHTTP builds the HTTP server.
func (s *Server) buildHTTP() {
	o := api.Options{
		Commands: s.service, Rebuilder: s.rebuilder, Proofs: s.proofs, Door: s.door,
		Answers: s.ledger.Answers, Audit: s.ledger.Audit, Roots: s.ledger.Roots,
		Statements: s.ledger.Statements, Claims: s.ledger.Claims,
		DeadLetters: s.ledger.DeadLetters, Approvals: s.ledger.Approvals.Above(s.secondPersonAbove()),
		Failing: s.ledger.Poster, History: s.ledger.Campaigns, Sponsors: s.ledger.Sponsors,
		Withdrawals: s.ledger.Withdrawals.Within(s.playerLimits()).PaidTo(s.payeeKind()),
		Payees:      s.ledger.Payees, PayeeKind: s.payeeKind(), Notified: s.notified,
		Seals: s.ledger.Seals, Wins: s.confirmer,
		Exports: export.New(s.back.sql, s.clock.Now),
		Outbox:  s.outbox,
		Held:    s.ledger.Risk, PlayerList: s.ledger.Players, Connections: store.NewConnections(s.redis),
		Sanctions: s.ledger.Sanctions, TellSanction: s.tellSanction,
		Lists: s.ledger.Lists, TellLists: s.tellLists, MayPlay: s.mayPlay,
		Judged:    s.bus.Judged,
		Limits:    store.NewLimits(s.redis),
		Campaigns: s.registry, Stats: s.figures, Figures: history.NewTable(s.back.sql), Events: s.events,
		Notifier: s.notifier, Players: s.players,
		Logins: login.NewCodes(store.NewLogins(s.redis)), Accounts: s.accounts, Banned: s.bans.Banned,
		Operators: s.operators, SignIn: s.signIn(), WakePayer: s.payer.Wake,
		TellWithdrawn: s.newsOfWithdrawal,
		JoinURL:       s.joinURL, Version: ReadBuild().Version, InProcess: s.cfg.InProcess(),
		Guests: s.cfg.GuestsAllowed(), ShowNames: s.cfg.NamesShown(), Challenge: s.challenge(),
		GuestPayee: s.playPayee(),
		Payout:     openapi.Payout{Provider: s.cfg.Provider, Name: s.cfg.PayoutName},
		GuestRate:  s.cfg.GuestRate, GuestsPerDay: s.cfg.AddressGuests, Unbounded: s.addresses.Exempt,
		AllowedOrigins: s.cfg.AllowedOrigins, Recoverer: s.recoverer, Clock: s.clock.Now,
		Log: s.log, Registerer: s.metrics,
	}
	if s.riskSystem != nil { // a nil pointer in the interface would not be nil
		o.RiskSystem = s.riskSystem
	}
	if s.names != nil {
		o.Profiles = s.names.Known
	}
	if s.demo != nil {
		o.Demo = s.demo.Campaign
	}
	s.api = api.New(o)
	s.ready = &health.Readiness{Monitor: s.monitor, Proved: s.proofs.Proved, Full: s.gateway.Full}
	s.http = &http.Server{
		Handler:           s.handler(s.api),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: proxyIdle, MaxHeaderBytes: 32 << 10,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second, WriteByteTimeout: timeout.Stall,
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// handler returns the handler of all paths.
func (s *Server) handler(a *api.API) http.Handler {
	mux := http.NewServeMux()
	if s.cfg.AdminListen == "" {
		s.mountHealth(mux)
	}
	a.Mount(mux)
	if s.cfg.Has(config.RoleGateway) {
		mux.Handle("/ws", api.RequireUpgrade(s.gateway))
	}
	if s.play != nil {
		mux.Handle(wechat.PagePath, s.play)
	}
	mux.Handle("/", web.Handler(web.Options{
		SignIn: s.tokenEndpoint, Widget: s.widget(), PublicURL: s.cfg.PublicRoot(), Files: s.verifyFiles,
		Images: names.Hosts(s.cfg.AvatarHosts).Sources(), Ancestors: s.cfg.FrameAncestors,
		WeChat: web.WeChat{Sign: s.signer(), SDK: s.cfg.WeChatSDK},
	}))
	return secure(mux)
}

// mountHealth adds the paths for monitoring.
func (s *Server) mountHealth(mux *http.ServeMux) {
	mux.Handle("/healthz", api.OnlyRead(http.HandlerFunc(health.Live)))
	mux.Handle("/readyz", api.OnlyRead(s.ready))
	mux.Handle("/metrics", api.OnlyRead(promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{})))
}

// secure sets the headers of every answer.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// mostVerifyFile is the limit of a file, in bytes. Those of WeChat and others have some dozen.
const mostVerifyFile = 4 << 10

// readVerifyFiles reads the files that prove the owner of a domain to WeChat (MP_verify_….txt) and others. The keys are
// the files' names.
func readVerifyFiles(paths []string) (map[string][]byte, error) {
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // the operator's own setting
		if err != nil {
			return nil, fmt.Errorf("--verify-files: %w", err)
		}
		if len(text) == 0 || len(text) > mostVerifyFile || !utf8.Valid(text) {
			return nil, fmt.Errorf("--verify-files %s: give a text of 1 to %d bytes", path, mostVerifyFile)
		}
		files[filepath.Base(path)] = text
	}
	return files, nil
}
