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
)

const (
	helloWithin = 5 * time.Second
	// badBurst bad messages are answered one by one; a client that continues faster than badRate a second is
	// disconnected.
	badBurst = 10
	badRate  = 0.5
)

// session is one connection. Its fields belong to the reading goroutine; exceptions say so.
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
	out     atomic.Bool            // the player was disconnected: no more messages are accepted
	bound   atomic.Pointer[string] // the campaign whose room the player is in, or is joining
	since   int64                  // of the hello, Unix ms
	user    string
	watches bool            // does not play, and is not counted as a player
	asking  *risk.Caller    // the player of the hello, until the risk system was asked; nil: no check
	hand    *risk.Hand      // the tap profile; nil: none
	listens string          // the player, from hello on
	person  *person         // nil before hello
	n       uint64          // its number among this node's connections; 0 before hello
	seat    *seat           // nil before hello
	gates   map[string]Gate // of the campaigns whose rooms the player has been in
	in      string          // the campaign that has admitted the player, "" before
	left    bool            // the player has closed the connection with 1000: they leave
	ended   bool            // later messages are ignored
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

// greeted ends the wait for a hello.
func (s *session) greeted() {
	if s.hello != nil {
		s.hello.Stop()
		s.hello = nil
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
