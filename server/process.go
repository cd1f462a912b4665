package server

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/standing"
	"redrain/payout/pipeline"
	"redrain/payout/reconcile"
	"redrain/payout/rollback"
	"redrain/payout/withdraw"
	"redrain/rain"
	"redrain/room"
	"redrain/server/admission"
	"redrain/server/alarms"
	"redrain/server/api"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/gateway"
	"redrain/server/health"
	"redrain/server/history"
	"redrain/server/live"
	"redrain/server/login"
	"redrain/server/names"
	"redrain/server/presence"
	"redrain/server/risk"
	"redrain/server/sockets"
)

// drainedKept is the time for which a drained campaign stays in Redis. Meanwhile a repeated tap gets its win again.
const drainedKept = 24 * time.Hour

// Server is one redrain process.
type Server struct {
	cfg      config.Config
	node     string // its name, new at each start
	log      *slog.Logger
	out      io.Writer
	back     *backends
	listener net.Listener
	api      *api.API
	http     *http.Server
	admin    *adminServer // nil without --admin-listen
	ready    *health.Readiness
	monitor  *health.Monitor
	checks   []health.Check
	sockets  *sockets.Table
	deadline atomic.Pointer[time.Time] // of the shutdown; nil before it

	metrics   *prometheus.Registry
	recoverer *loop.Recoverer
	clock     *store.Clock
	bus       *cluster.Bus
	redis     *store.Store
	confirmer *confirm.Confirmer
	installed *cluster.Installation
	outbox    *confirm.Outbox
	gates     *grab.Gates[gateway.TapOrigin]
	ledger    *ledger.Ledger
	books     *reconcile.Reconciler
	deciders  *pipeline.Deciders
	relay     *pipeline.Relay
	rollback  *rollback.Detector // nil: the ledger does not outlive the process
	settler   *pipeline.Settler
	forgeries *campaigns.Forgeries
	payer     *withdraw.Payer
	notified  api.NotifiedProvider // the provider of withdrawals, if it sends notifications; else nil
	play      *playMoney           // nil without --demo-payments
	provider  *providerStart
	known     *cluster.Known
	registry  *cluster.Registry
	notifier  *cluster.Notifier
	service   *campaigns.Service
	loop      *campaigns.ReconcileLoop
	rebuilder *campaigns.Rebuilder
	reclaimer *campaigns.Reclaimer
	mover     *campaigns.Mover
	odds      *campaigns.Odds
	recorder  *history.Recorder
	watch     *campaigns.Watch
	bans      *standing.Sanctions
	sanctions *cluster.Mirror[standing.Sanction] // fills bans
	lists     *admission.Lists
	judged    *standing.Verdicts                // nil: verdicts hold nothing
	verdicts  *cluster.Mirror[standing.Verdict] // fills judged; nil without it
	door      *admission.Door
	addresses *admission.Caps
	amounts   *rain.AmountsCache
	lobby     *room.Lobby
	schedule  *live.Schedule
	gateway   *gateway.Gateway
	risk      *risk.Watch // nil: no checks

	riskSystem *risk.System // nil: none is configured
	figures    *live.Figures
	names      *names.Book // nil: players are shown under masked ids

	verifyFiles map[string][]byte // by their names
	newest      secrets
	alarms      *alarms.Open
	poster      *alarms.Poster // nil without --alarm-url
	events      *api.Events
	proofs      *campaigns.Proofs
	roots       *chain.RootRounds
	demo        *campaigns.Demo // nil without one
	players     *auth.Players
	operators   *auth.Operators
	named       *auth.OperatorsFile // nil without one
	issuer      *auth.Issuer        // nil without one
	accounts    api.Accounts        // where players log in

	playerIssuer *auth.Issuer   // nil without --player-oidc-issuer
	tickets      *login.Tickets // nil without --wechat-login-app-id

	connections *presence.Connections
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// release closes everything that New has opened.
func (s *Server) release() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.admin != nil {
		_ = s.admin.listener.Close()
	}
	s.back.close()
}
