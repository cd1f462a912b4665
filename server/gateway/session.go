package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/timeout"
)

const (
	helloWithin = 5 * time.Second
	// badBurst bad messages are answered one by one; who goes on faster than badRate a second is sent away.
	badBurst = 10
	badRate  = 0.5
)

// session is one connection. Its fields are the reading goroutine's; what other goroutines may call says so.
type session struct {
	g      *Gateway
	conn   *websocket.Conn
	plain  *ws.Conn // below conn
	member *room.Member
	addr   string
	bad    *rate.Limiter // nil until there was a bad message
	hello  *time.Timer   // nil when it has come

	user  string
	seat  seat
	ended bool // what still comes is not looked at
}

// seat is the room in which the player sits.
type seat struct {
	campaign string
	gate     Gate
	count    *live.CampaignCount
}

func newSession(g *Gateway, conn *websocket.Conn, by *takeover, addr string) *session {
	s := &session{g: g, conn: conn, plain: by.plain, addr: addr}
	s.member = g.o.Lobby.NewMember(by.socket, nil)
	s.hello = time.AfterFunc(helloWithin, func() { s.member.Close(room.CodeProtocol, "no hello in time") })
	return s
}

func (s *session) close() {
	s.greeted()
	s.g.o.Lobby.Leave(s.member)
	s.member.Gone()
}

// greeted ends the waiting for a hello.
func (s *session) greeted() {
	if s.hello != nil {
		s.hello.Stop()
		s.hello = nil
	}
}

// end closes the connection with a code, after what is queued.
func (s *session) end(code int, reason string) {
	s.ended = true
	s.member.CloseAfterFlush(code, reason)
}

// handle may keep nothing of data.
func (s *session) handle(data []byte) {
	if tap, ok := wire.ParseTap(data); ok && s.user != "" {
		s.tap(tap)
		return
	}
	aside(func() { s.other(data) })
}

// aside runs f on a stack of its own and waits for it. What decodes with reflection, verifies a signature or asks a
// back end needs a stack that a reader would keep for as long as it is connected: it was most of the memory of an
// idle connection.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// other handles whatever is not a plain tap.
func (s *session) other(data []byte) {
	req, err := wire.ParseRequest(data)
	switch {
	case errors.Is(err, wire.ErrUnknownType):
		s.complain(req.ID, wire.CodeUnknownType, err.Error())
	case err != nil:
		s.complain(req.ID, wire.CodeMalformed, err.Error())
	case req.Type == wire.TypePing:
		s.send(wire.Pong{Type: wire.TypePong, ID: req.ID, T: req.T, ServerTime: s.g.o.Clock()})
	case req.Type == wire.TypeHello && s.user != "":
		s.complain(req.ID, wire.CodeAlreadyHello, "hello comes once; use join to move to another room")
	case req.Type == wire.TypeHello:
		s.greet(req)
	case s.user == "":
		s.complain(req.ID, wire.CodeHelloFirst, "the first message is hello")
		s.end(room.CodeProtocol, "the first message is hello")
	case req.Type == wire.TypeJoin:
		s.move(req)
	default:
		s.tapAs(req)
	}
}

// complain answers a bad message; who sends too many is sent away.
func (s *session) complain(id wire.ID, code, message string) {
	s.send(wire.Error{Type: wire.TypeError, ID: id, Code: code, Message: message})
	if s.bad == nil {
		s.bad = rate.NewLimiter(badRate, badBurst)
	}
	if !s.bad.Allow() {
		s.end(room.CodeTooManyBad, "too many bad messages")
	}
}

func (s *session) greet(req wire.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
	defer cancel()
	if !s.g.allowHello(ctx, s.addr) {
		s.end(room.CodeUnavailable, "too many connections from this address at once")
		return
	}
	user, err := s.g.o.Players.Verify(ctx, req.Token)
	if errors.Is(err, auth.ErrKeysUnavailable) {
		s.end(room.CodeUnavailable, "unavailable")
		return
	}
	if err != nil {
		s.g.o.Log.Debug("bad token", "addr", s.addr, "err", err)
		s.end(room.CodeBadToken, "bad token")
		return
	}
	s.greeted()
	err = s.enter(ctx, user, req)
	switch {
	case errors.Is(err, errUnknownCampaign):
		s.end(room.CodeUnknownCampaign, "unknown campaign")
	case err != nil:
		s.g.o.Log.Warn("a player cannot be let in", "campaign", req.Campaign, "err", err)
		s.end(room.CodeUnavailable, "unavailable")
	default:
		s.user = user
	}
}

func (s *session) move(req wire.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
	defer cancel()
	err := s.enter(ctx, s.user, req)
	switch {
	case errors.Is(err, errUnknownCampaign):
		s.complain(req.ID, wire.CodeUnknownCampaign, "there is no such campaign")
	case err != nil:
		s.g.o.Log.Warn("a player cannot move", "campaign", req.Campaign, "err", err)
		s.send(wire.Error{Type: wire.TypeError, ID: req.ID, Code: wire.CodeUnavailable, Message: "try again",
			Retryable: true})
	}
}

// enter seats the player in a campaign's room. The welcome is the first that they hear of it.
func (s *session) enter(ctx context.Context, user string, req wire.Request) error {
	arriving := s.g.arrivals.expect(user)
	defer s.g.arrivals.giveUp(arriving)
	c, welcome, err := s.g.welcome(ctx, user, req)
	if err != nil {
		return err
	}
	s.seat = seat{campaign: c.ID, gate: s.g.o.Gate(c), count: s.g.o.Counts.Of(c.ID)}
	toldAt := live.RainStateOf(c, welcome.ServerTime)
	s.send(welcome)
	s.g.arrivals.seat(arriving, func(missed *wire.Settled) {
		first := s.user == "" // who moves from another room has heard it there
		if fresh := news(missed, welcome.Claims); first && fresh != nil {
			s.send(fresh)
		}
		s.g.o.Lobby.Join(c.ID, user, s.member)
	})

	// What changed between the welcome and the joining was told to a room that the player was not yet in.
	if newer := s.g.o.Campaigns.Cached(c.ID); newer != nil {
		c = newer
	}
	now := s.g.o.Clock()
	if is := wire.CampaignOf(c, now); is != welcome.Campaign {
		s.send(wire.CampaignChange{Type: wire.TypeCampaign, Campaign: is})
	}
	if live.RainStateOf(c, now) != toldAt {
		s.send(wire.RainChange{Type: wire.TypeRain, Rain: wire.RainOf(c.Current(), now, c.Status != rain.Open)})
	}
	for _, wave := range live.InAir(c, now) {
		s.member.Send(wave)
	}
	return nil
}

// goodbye tells the player that the node is going. Any goroutine may call it.
func (s *session) goodbye(afterMS int64) {
	s.send(wire.Goodbye{Type: wire.TypeGoodbye, Reason: "shutdown", ReconnectAfterMS: afterMS})
	s.member.CloseAfterFlush(room.CodeShutdown, "shutdown")
}

func (s *session) send(message any) { s.member.Send(wire.Encode(message)) }
