package gateway

import (
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/room"
	"redrain/server/risk"
	"redrain/server/riskurl"
)

const (
	helloWithin = 5 * time.Second
	// badBurst bad messages are answered one by one; who goes on faster than badRate a second is sent away.
	badBurst = 10
	badRate  = 0.5
)

// session is one connection. Its fields are the reading goroutine's; what other goroutines may call says so.
type session struct {
	g      *shared
	conn   *websocket.Conn
	plain  *ws.Conn // below conn
	member *room.Member
	addr   string
	bad    *rate.Limiter // nil until there was a bad message
	budget budget
	hello  *time.Timer // nil when it has come

	term    term                   // of the player's token
	out     atomic.Bool            // the player was sent away: nothing is taken any more
	bound   atomic.Pointer[string] // the campaign whose room the player is in, or on the way to
	since   int64                  // of the hello, Unix ms
	user    string
	watches bool            // looks on: does not play, and is not counted among those who do
	asking  *riskurl.Caller // who says hello, until the risk system was asked; nil: it is not to be
	hand    *risk.Hand      // how the player taps; nil: nobody looks at it
	listens string          // who settlements are listened for, "" before hello
	person  *person         // nil before hello
	n       uint64          // names it among this node's connections; 0 before hello
	seat    *seat           // nil before hello
	gates   map[string]Gate // of the campaigns whose rooms the player has been in
	in      string          // the campaign whose door has let the player in, "" before
	left    bool            // the player has closed the connection with 1000: they go
	ended   bool            // what still comes is not looked at
}

func newSession(g *shared, conn *websocket.Conn, by *takeover, addr string) *session {
	s := &session{g: g, conn: conn, plain: by.plain, addr: addr, budget: newBudget(g.o.TapRate)}
	s.member = g.o.Lobby.NewMember(by.socket, nil)
	s.term.clock, s.term.lapsed = g.o.Clock, func() { s.member.CloseAfterFlush(room.CodeExpired, expired) }
	s.hello = time.AfterFunc(helloWithin, func() { s.member.Close(room.CodeProtocol, wire.LateHello) })
	return s
}

func (s *session) close() {
	s.greeted()
	s.leaveRoom()
	s.term.end()
	s.g.o.Lobby.Leave(s.member)
	s.member.Gone()
	if s.listens != "" {
		s.g.o.Audience.Leave(s.listens)
		s.g.people.remove(s.listens, s)
	}
	if s.user != "" && s.n != 0 {
		s.g.o.Connections.Gone(s.user, s.n)
	}
	s.g.arrivals.unlessExpected(s.user, func() {
		if s.g.o.Lobby.Has(s.user) {
			return
		}
		for _, gate := range s.gates {
			gate.Forget(s.user)
		}
	})
}

// greeted ends the waiting for a hello.
func (s *session) greeted() {
	if s.hello != nil {
		s.hello.Stop()
		s.hello = nil
	}
}

// part names a connection's work where a panic in it is logged and counted.
const part = "socket"

// panicked ends the connection after a panic, which the recoverer has logged and counted.
func (s *session) panicked() { s.end(websocket.CloseInternalServerErr, "internal error") }

// end closes the connection with a code, after what is queued.
func (s *session) end(code int, reason string) {
	s.ended = true
	s.member.CloseAfterFlush(code, reason)
}

// goodbye tells the player that the node is going. Any goroutine may call it.
func (s *session) goodbye(afterMS int64) {
	s.send(wire.Goodbye{Type: wire.TypeGoodbye, Reason: "shutdown", ReconnectAfterMS: afterMS})
	s.member.CloseAfterFlush(room.CodeShutdown, "shutdown")
}

func (s *session) send(message any) { s.member.Send(wire.Encode(message)) }
