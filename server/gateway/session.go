package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"redrain/internal/requestid"
	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/room"
	"redrain/server/risk"
	"redrain/server/timeout"
)

const (
	helloWithin = 5 * time.Second
	// badBurst bad messages are answered one by one; a client that continues faster than badRate a second is
	// disconnected.
	badBurst = 10
	badRate  = 0.5
)

// session is one connection. Its fields belong to the reading goroutine; exceptions say so. TooMany and Sanctioned
// read number and since after people.add.
type session struct {
	g         *shared
	conn      *websocket.Conn
	plain     *ws.Conn // below conn
	member    *room.Member
	addr      string
	requestID string        // of the upgrade
	bad       *rate.Limiter // nil until there was a bad message
	budget    budget
	timer     *time.Timer  // of timedOut: the end of the wait for a hello, then that of the token
	ends      atomic.Int64 // when the newest token expires, Unix ms on the cluster's clock; 0: none yet

	out        atomic.Bool            // set by any goroutine: no more messages are accepted
	boundFor   atomic.Pointer[string] // the campaign whose room the player is in, or is joining
	since      int64                  // of the hello, Unix ms
	user       string
	watches    bool          // does not play, and is not counted as a player
	asking     *risk.Caller  // the player of the hello, until the risk system was asked; nil: no check
	hand       *risk.Hand    // the tap profile; nil: none
	tokenUser  string        // the player, from hello on
	person     *person       // nil before hello
	number     uint64        // its number among this node's connections; 0 before hello
	seat       *seat         // nil before hello
	missed     *wire.Settled // settlements while the connection joins, guarded by people.mu; nil: it does not join
	admittedTo string        // the campaign that has admitted the player, "" before
	left       bool          // the player has closed the connection with 1000: they leave
	ended      bool          // set by the reading goroutine: later messages are ignored
}

func newSession(g *shared, conn *websocket.Conn, by *takeover, addr string) *session {
	s := &session{g: g, conn: conn, plain: by.plain, addr: addr, budget: newBudget(g.o.TapRate)}
	s.member = g.o.Lobby.NewMember(by.socket)
	s.timer = time.AfterFunc(helloWithin, s.timedOut)
	return s
}

// forBackends returns the context of requests to back ends.
func (s *session) forBackends() (context.Context, context.CancelFunc) {
	return context.WithTimeout(requestid.With(context.Background(), s.requestID), timeout.Backend)
}

func (s *session) close() {
	s.out.Store(true) // for a timer that has fired
	s.timer.Stop()
	s.leaveRoom()
	s.g.o.Lobby.Leave(s.member)
	s.member.Gone()
	if s.tokenUser != "" {
		s.g.people.remove(s.tokenUser, s)
	}
	if s.user != "" && s.number != 0 {
		s.g.o.Connections.Gone(s.user, s.number)
	}
}

// expired is the client's message beside room.CodeExpired.
const expired = "the token has expired: come back with a new one"

// hasExpired reports whether the player's token has expired.
func (s *session) hasExpired() bool {
	ends := s.ends.Load()
	return ends != 0 && s.g.o.Clock() >= ends
}

// extend takes the expiry of a new token. If that time has passed, it returns false and changes nothing.
func (s *session) extend(until int64) bool {
	if s.g.o.Clock() >= until {
		return false
	}
	s.ends.Store(until)
	s.timer.Reset(s.remaining())
	return true
}

// remaining returns the timer's next wait: until the token expires, but at most an hour.
func (s *session) remaining() time.Duration {
	ms := min(s.ends.Load()-s.g.o.Clock(), time.Hour.Milliseconds())
	return time.Duration(max(ms, 1)) * time.Millisecond
}

// timedOut closes the connection if there was no hello, or if the token has expired. Otherwise the timer runs again,
// since machines follow the cluster's clock only roughly.
func (s *session) timedOut() {
	switch {
	case s.out.Load():
	case s.ends.Load() == 0:
		s.member.Close(room.CodeProtocol, wire.LateHello)
	case s.hasExpired():
		s.member.CloseAfterFlush(room.CodeExpired, expired)
	default:
		s.timer.Reset(s.remaining())
	}
}

// part names a connection's work in logs and metrics of panics.
const part = "socket"

// panicked ends the connection after a panic, which the recoverer has logged and counted.
func (s *session) panicked() { s.end(websocket.CloseInternalServerErr, "internal error") }

// end closes the connection with a code, after the queued messages.
func (s *session) end(code int, reason string) {
	s.ended = true
	s.member.CloseAfterFlush(code, reason)
}

// goodbye notifies the player that the node shuts down. It is safe for concurrent use.
func (s *session) goodbye(afterMS int64) {
	s.send(wire.Goodbye{Type: wire.TypeGoodbye, Reason: "shutdown", ReconnectAfterMS: afterMS})
	s.member.CloseAfterFlush(room.CodeShutdown, "shutdown")
}

func (s *session) send(message any) { s.member.Send(wire.Encode(message)) }

// sendError sends an error that answers a message.
func (s *session) sendError(id wire.ID, e wire.Error) {
	e.Type, e.ID = wire.TypeError, id
	s.send(e)
}
