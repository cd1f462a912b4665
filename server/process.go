package server

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/rounds"
	"redrain/payout/ledger"
	"redrain/payout/pipeline"
	"redrain/payout/reconcile"
	"redrain/payout/withdraw"
	"redrain/room"
	"redrain/server/api"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/gateway"
	"redrain/server/live"
)

// drainedKept is how long a drained campaign stays in Redis: so long a won tap that is sent again gets its win again.
const drainedKept = 24 * time.Hour

// Server is one redrain process.
type Server struct {
	cfg      Config
	log      *slog.Logger
	guard    *rounds.Guard
	out      io.Writer
	back     *backends
	listener net.Listener
	http     *http.Server
	health   *health
	deadline atomic.Pointer[time.Time] // of the shutdown, once it has begun

	clock     *store.Clock
	grabber   *grabber
	ledger    *ledger.Ledger
	books     *reconcile.Reconciler
	relay     *pipeline.Relay
	settler   *pipeline.Settler
	payer     *withdraw.Payer
	known     *cluster.Known
	registry  *cluster.Registry
	notifier  *cluster.Notifier
	service   *campaigns.Service
	loop      *campaigns.ReconcileLoop
	rebuilder *campaigns.Rebuilder
	reclaimer *campaigns.Reclaimer
	lobby     *room.Lobby
	schedule  *live.Schedule
	gateway   *gateway.Gateway
	figures   *live.Figures
	events    *api.Events
	proofs    *campaigns.Proofs
	demo      *campaigns.Demo // nil without one
	players   *auth.Players
}
