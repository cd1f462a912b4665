package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/rounds"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/room"
	"redrain/server/limit"
	"redrain/server/live"
)

// Gateway is the players' door: it upgrades connections, and owns the goroutine that reads each.
type Gateway struct {
	o Options

	metrics  *metrics
	upgrader websocket.Upgrader
	mu       sync.Mutex
	arrivals *arrivals
	sessions map[*session]struct{}
	closing  bool
	readers  sync.WaitGroup
	open     atomic.Int64
}

// Players knows who a token belongs to. [auth.Players] does.
type Players interface {
	Verify(ctx context.Context, token string) (user string, err error)
}

// Campaigns finds campaigns. [cluster.Registry] does.
type Campaigns interface {
	Get(ctx context.Context, id string) (*rain.Campaign, error) // posting.ErrUnknownCampaign where there is none
	Cached(id string) *rain.Campaign                            // nil where this node does not know it
}

// Gate takes the taps on one campaign. [grab.Gate] does.
type Gate interface {
	// Tap answers at once where the answer is known; else Results.Answer is told later.
	Tap(t *grab.Tap[Asked]) (r outcome.Result, known bool)
	// Remember lets the gate know wins of a player that other nodes have given.
	Remember(user string, wins []rain.Win)
}

// Wins tells what a player has won of a campaign, oldest first, as far as it is confirmed.
type Wins interface {
	ConfirmedWins(ctx context.Context, c *rain.Campaign, user string) ([]rain.Win, error)
}

// Claims tells what has become of a player's claims. [ledger.Ledger] does.
type Claims interface {
	ClaimStates(ctx context.Context, user string, claims []string) (map[string]ledger.ClaimState, error)
}

// Limits tells whether one more of what is limited by key is allowed, and if not, after which time it will be.
type Limits interface {
	Allow(ctx context.Context, name, key string, rate, burst float64) (ok bool, after time.Duration, err error)
}

// Options of a gateway. All are needed but those that say so.
type Options struct {
	Players        Players
	Campaigns      Campaigns
	Gate           func(*rain.Campaign) Gate // a campaign's gate, always the same one
	Wins           Wins
	Claims         Claims
	Limits         Limits
	Lobby          *room.Lobby
	Counts         *live.Counts
	TapRate        int           // taps per second and player, which the welcome tells; 0: no limit
	HelloRate      float64       // hellos per second and address, over all nodes; 0: no limit
	MaxConnections int           // sockets of this process; more are closed with room.CodeTooManyConnections
	AllowedOrigins []string      // web origins that may open a socket besides the server's own; "*": all
	Guard          *rounds.Guard // hears of panics; nil: they are logged only
	Clock          rain.Clock
	Log            *slog.Logger
	Registerer     prometheus.Registerer
}

// readBuffer is the library's, which reads only what package frames leaves to it. Each connection has one.
const readBuffer = 256

// New makes a gateway without connections. Drain ends it.
func New(o Options) *Gateway {
	g := &Gateway{
		o: o, metrics: newMetrics(o.Registerer), arrivals: newArrivals(),
		sessions: map[*session]struct{}{},
	}
	g.upgrader = websocket.Upgrader{
		Subprotocols:     []string{wire.Subprotocol},
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  4096,
		WriteBufferPool:  &sync.Pool{},
		HandshakeTimeout: 5 * time.Second,
		// Refused after the upgrade, with a close code that a page can see; a browser hides the status of a refused
		// one.
		CheckOrigin: func(*http.Request) bool { return true },
	}
	return g
}

// ServeHTTP upgrades a connection, which has to be asked for. It returns at once and the session reads on in a goroutine of its own, because
// net/http would keep its buffers for as long as the handler runs.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	take := &takeover{ResponseWriter: w}
	conn, err := g.upgrader.Upgrade(take, r, nil)
	if err != nil {
		g.o.Log.Debug("upgrade refused", "addr", r.RemoteAddr, "err", err)
		return
	}
	s := newSession(g, conn, take, limit.Address(r))
	if !g.admit(s) {
		s.member.Close(room.CodeShutdown, "shutdown")
		return
	}
	if code, reason := g.refusal(r, conn); code != 0 {
		s.end(code, reason)
	}
	go func() {
		defer g.readers.Done()
		defer g.leave(s)
		s.run()
	}()
}

// refusal is why a connection may not stay; 0 if it may.
func (g *Gateway) refusal(r *http.Request, conn *websocket.Conn) (code int, reason string) {
	offered := websocket.Subprotocols(r)
	switch {
	case !originAllowed(r, g.o.AllowedOrigins):
		return room.CodeOrigin, "this origin is not allowed"
	case len(offered) > 0 && conn.Subprotocol() == "":
		return room.CodeProtocol, "the subprotocol is " + wire.Subprotocol
	case g.open.Load() > int64(g.o.MaxConnections):
		return room.CodeTooManyConnections, "this node is full"
	}
	return 0, ""
}

func (g *Gateway) admit(s *session) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.sessions[s] = struct{}{}
	g.open.Add(1)
	g.readers.Add(1)
	return true
}

func (g *Gateway) leave(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s)
	g.open.Add(-1)
}

// Drain tells every player goodbye, closes the sockets after what was queued has been written, and waits for the
// readers, or until ctx ends. New connections are refused from the first moment.
func (g *Gateway) Drain(ctx context.Context) {
	g.mu.Lock()
	g.closing = true
	leaving := make([]*session, 0, len(g.sessions))
	for s := range g.sessions {
		leaving = append(leaving, s)
	}
	g.mu.Unlock()
	for _, s := range leaving {
		s.goodbye(spread(len(leaving)))
	}
	gone := make(chan struct{})
	go func() { g.readers.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
		g.cut()
		<-gone
	}
}

// cut closes what would not go by itself.
func (g *Gateway) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.sessions {
		_ = s.conn.SetReadDeadline(time.Now()) // its reader returns, and gives the connection up
	}
}

// spread is when a player should come back, in milliseconds: at random over a time that grows with their number, so
// that the other nodes do not get them all in one moment.
func spread(players int) int64 {
	return 250 + rand.Int64N(2_000+int64(players)) //nolint:gosec // not a secret
}

// originAllowed: the same host, a listed origin, or no browser at all (no Origin header).
func originAllowed(r *http.Request, allowed []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(allowed, "*") || slices.Contains(allowed, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
