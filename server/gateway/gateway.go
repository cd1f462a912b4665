package gateway

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"redrain/internal/auth"
	"redrain/internal/requestid"
	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/room"
	"redrain/server/clientip"
)

// readBuffer is the size of gorilla's read buffer. Gorilla reads only the frames that package ws leaves to it.
const readBuffer = 256

// foreignEvery is the interval at which a refused origin is logged.
const foreignEvery = 10 * time.Second

// Gateway upgrades players' connections, and owns the goroutine that reads each.
type Gateway struct {
	*shared

	upgrader websocket.Upgrader
	mu       sync.Mutex
	sessions map[*session]struct{}
	closing  bool
	readers  sync.WaitGroup
	limit    connectionLimit
	pace     *pace
	foreign  rate.Sometimes // limits the log of refused origins
}

// New returns a gateway without connections. Drain ends it.
func New(o Options) *Gateway {
	if o.Profile == nil {
		o.Profile = func(auth.Grant) wire.Profile { return wire.Profile{} }
	}
	m := newMetrics(o.Registerer)
	over, err := lru.New[string, int64](overMost)
	if err != nil {
		panic(err) // only for a size below 1
	}
	g := &Gateway{
		shared: &shared{
			o: o, metrics: m, people: newPeople(m.several), over: over,
		},
		sessions: map[*session]struct{}{}, limit: connectionLimit{all: int64(o.MaxConnections)},
		pace: newPace(o.Arrivals), foreign: rate.Sometimes{Interval: foreignEvery},
	}
	g.upgrader = websocket.Upgrader{
		Subprotocols:     []string{wire.Subprotocol},
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  4096,
		WriteBufferPool:  &sync.Pool{},
		HandshakeTimeout: 5 * time.Second,
		// A wrong origin is refused after the upgrade, because a page sees the close code but not the status of a
		// refused upgrade.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			o.Problem(w, status, "bad_handshake", reason.Error())
		},
	}
	return g
}

// ServeHTTP upgrades a connection if the request asks for it. It returns at once, and the session reads on in its own
// goroutine: net/http would keep its buffers for as long as the handler runs.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if after, ok := g.pace.take(time.Now()); !ok {
		g.tooSoon(w, after)
		return
	}
	if !g.limit.take() {
		g.refuseFull(w)
		return
	}
	take := &takeover{ResponseWriter: w}
	id := requestid.Of(r.Context())
	conn, err := g.upgrader.Upgrade(take, r, http.Header{requestid.Header: {id}})
	if err != nil {
		g.limit.release()
		g.o.Log.DebugContext(r.Context(), "upgrade refused", "addr", r.RemoteAddr, "err", err)
		return
	}
	s := newSession(g.shared, conn, take, clientip.RequestKey(r))
	s.requestID = id
	if !g.admit(s) {
		g.limit.release()
		s.member.Close(room.CodeShutdown, "shutdown")
		return
	}
	if code, reason := g.upgradeFault(r, conn); code != 0 {
		s.end(code, reason)
	}
	go func() {
		defer g.readers.Done()
		defer g.leave(s)
		s.run()
	}()
}

// upgradeFault returns the reason for which a connection may not stay; 0 if it may.
func (g *Gateway) upgradeFault(r *http.Request, conn *websocket.Conn) (code int, reason string) {
	offered := websocket.Subprotocols(r)
	switch {
	case !originAllowed(r, g.o.AllowedOrigins):
		g.foreign.Do(func() {
			g.o.Log.WarnContext(r.Context(), "refused a page of another origin; others within seconds are not logged: "+
				"if it is yours, add it to --allowed-origins", "origin", r.Header.Get("Origin"), "host", r.Host,
				"addr", r.RemoteAddr)
		})
		return room.CodeOrigin, "this origin is not allowed"
	case len(offered) > 0 && conn.Subprotocol() == "":
		return room.CodeProtocol, "the subprotocol is " + wire.Subprotocol
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
	g.readers.Add(1)
	return true
}

func (g *Gateway) leave(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s)
	g.limit.release()
}

// Drain says goodbye to every player, closes the sockets after their queued messages have been written, and waits for
// the readers, or until ctx ends. New connections are refused from the first moment.
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

// cut ends the remaining readers. Each then closes its connection.
func (g *Gateway) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.sessions {
		_ = s.conn.SetReadDeadline(time.Now())
	}
}

// spread returns the delay after which a player should come back, in milliseconds. It is random over a time that
// grows with the number of players, so that they do not reach the other nodes in one moment.
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
	return err == nil && u.Host != "" && hostAndPort(u) == hostAndPort(&url.URL{Scheme: u.Scheme, Host: r.Host})
}

// hostAndPort returns the host of a URL in lower case, with the port, which may be the scheme's default.
func hostAndPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// takeover puts a room.Socket and a ws.Conn between the network connection and gorilla. Then only the member writes.
// Otherwise gorilla would answer pings and close frames from the reading goroutine. It need not read plain frames.
type takeover struct {
	http.ResponseWriter

	socket *room.Socket // after the upgrade, as plain is
	plain  *ws.Conn
}

// Hijack is called by the upgrade.
func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.plain = &ws.Conn{Conn: conn}
	t.socket = room.NewSocket(t.plain)
	return t.socket, buffered, nil
}
