package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/gorilla/websocket"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/risk"
)

// request handles a message that is not a plain tap, on another stack. Decoding with reflection, verifying a
// signature and asking a back end need a large stack. The reading goroutine would keep it while the player is
// connected: it was most of the memory of an idle connection.
func (s *session) request(data []byte) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.g.o.Recoverer.Recover(part, func(any) { s.panicked() })
		s.handle(data)
	}()
	<-done
}

// handle must not keep data.
func (s *session) handle(data []byte) {
	req, err := wire.ParseRequest(data)
	greeted := s.user != ""
	switch {
	case len(data) > wire.MaxRequest && !req.BringsToken():
		s.end(websocket.CloseMessageTooBig, tooLarge)
	case err == nil && req.Type == wire.TypeTap && greeted && s.watches:
		s.complain(req.ID, wire.CodeWatching, "this connection looks on: connect anew, without watch, to play")
	case err == nil && req.Type == wire.TypeTap && greeted:
		if tap, ok := req.Tap(); ok {
			s.tap(tap, time.Now())
		} else {
			s.noSuchDrop(req)
		}
	case err == nil && req.Type == wire.TypeHello && !greeted:
		s.greet(req)
	case err == nil && req.Type == wire.TypeJoin && greeted:
		s.move(req)
	case err == nil && req.Type == wire.TypeToken && greeted:
		s.renew(req)
	case err == nil && req.Type == wire.TypePing:
		s.send(wire.Pong{Type: wire.TypePong, ID: req.ID, T: req.T, ServerTime: s.g.o.Clock()})
	default:
		s.complainAbout(req, err)
	}
}

// complainAbout describes the fault of a request.
func (s *session) complainAbout(req wire.Request, err error) {
	switch {
	case errors.Is(err, wire.ErrUnknownType):
		s.complain(req.ID, wire.CodeUnknownType, err.Error())
	case err != nil:
		s.complain(req.ID, wire.CodeMalformed, err.Error())
	case req.Type == wire.TypeHello:
		s.complain(req.ID, wire.CodeAlreadyHello, "hello comes once; use join to move to another room")
	default:
		s.complain(req.ID, wire.CodeHelloFirst, "the first message is hello")
		s.end(room.CodeProtocol, "the first message is hello")
	}
}

// complain answers a bad message; too many of them end the connection.
func (s *session) complain(id wire.ID, code, message string) {
	s.sendError(id, wire.Error{Code: code, Message: message})
	if !spend(&s.bad, time.Now(), badRate, badBurst) {
		s.end(room.CodeTooManyBad, "too many bad messages")
	}
}

func (s *session) greet(req wire.Request) {
	ctx, cancel := s.forBackends()
	defer cancel()
	grant, err := s.g.o.Players.Grant(ctx, req.Token)
	if errors.Is(err, auth.ErrKeysUnavailable) {
		s.end(room.CodeUnavailable, "unavailable")
		return
	}
	if err != nil {
		s.g.o.Log.DebugContext(ctx, "bad token", "addr", s.addr, "err", err)
		s.refuseHello(ctx, room.CodeBadToken, err.Error())
		return
	}
	user := grant.User
	s.watches = req.Watch
	if !s.extend(grant.Until) {
		s.refuseHello(ctx, room.CodeExpired, expired)
		return
	}
	s.tokenUser, s.since, s.number = user, s.g.o.Clock(), s.g.numbers.Add(1)
	s.person = s.g.people.add(user, s, s.g.o.Profile(grant))
	if s.g.o.Banned(user) { // people.add comes first, so that a ban after this check finds the connection
		s.end(room.CodeSentAway, sentAway)
		return
	}
	who := risk.Caller{User: user, Address: s.addr, Session: grant.Session, Issued: grant.Issued}
	if s.g.o.Ask != nil {
		s.asking = &who
	}
	if err = s.enter(ctx, user, req); err != nil {
		s.endHello(ctx, req, err)
		return
	}
	s.hand = s.g.o.Risk.Hand(who)
	s.user = user
	s.g.o.Connections.Come(ctx, user, s.number, s.since)
}

func (s *session) move(req wire.Request) {
	if !s.budget.welcome(time.Now()) {
		s.complain(req.ID, wire.CodeTooMany, "more joins than a player needs; wait a little")
		return
	}
	ctx, cancel := s.forBackends()
	defer cancel()
	err := s.enter(ctx, s.user, req)
	if err == nil {
		return
	}
	answer := refusalOf(err).answer
	if answer.Code == wire.CodeUnavailable {
		s.g.o.Log.WarnContext(ctx, "move a player to another room", "campaign", req.Campaign, "err", err)
	}
	if answer.Retryable {
		s.sendError(req.ID, answer)
		return
	}
	s.complain(req.ID, answer.Code, answer.Message)
}

// enter seats the player in a campaign's room. The welcome is the first message to them.
func (s *session) enter(ctx context.Context, user string, req wire.Request) error {
	s.g.people.holdSettlements(s)
	defer s.g.people.releaseSettlements(s, func(*wire.Settled) {})
	if err := s.mayLookUp(req.Campaign); err != nil {
		return err
	}
	c, err := s.g.o.Campaigns.Get(ctx, req.Campaign)
	if err != nil {
		return err
	}
	was := s.boundFor.Swap(&c.ID) // before admit, so that a list changed during admit finds this connection
	allowed, err := s.admit(ctx, c, user)
	if err != nil {
		s.boundFor.Store(was)
		return err
	}
	welcome, err := s.g.welcome(ctx, c, user, req.ID, s.ends.Load())
	if err != nil {
		s.g.undoAdmit(c.ID, s.addr, user, false)
		s.boundFor.Store(was)
		return err
	}
	s.leaveRoom()
	s.admittedTo = c.ID
	s.seat = &seat{campaign: c.ID, gate: s.g.o.Gate(c), count: s.g.o.Counts.Of(c.ID), metrics: s.g.metrics,
		ranks: s.g.ranks(c), allowed: allowed}
	sentRain := live.RainStateOf(c, welcome.ServerTime)
	s.send(welcome)
	s.g.people.releaseSettlements(s, func(missed *wire.Settled) {
		s.person.gates[c.ID] = s.seat.gate
		first := s.user == "" // a player who moves from another room has received it there
		if fresh := news(missed, welcome.Claims); first && fresh != nil {
			s.send(fresh)
		}
		take := s.g.o.Lobby.Join
		if s.watches {
			take = s.g.o.Lobby.Watch
		}
		take(c.ID, user, s.member)
	})

	// The campaign may have changed between the welcome and the join. Send the changes.
	if newer := s.g.o.Campaigns.Cached(c.ID); newer != nil {
		c = newer
	}
	now := s.g.o.Clock()
	if is := wire.CampaignOf(c, now); is != welcome.Campaign {
		s.send(wire.CampaignChange{Type: wire.TypeCampaign, Campaign: is})
	}
	if live.RainStateOf(c, now) != sentRain {
		s.send(wire.RainChange{Type: wire.TypeRain, Rain: wire.RainOf(c.Current(), now, c.Status != rain.Open)})
	}
	for _, wave := range live.InAir(c, now) {
		s.member.Send(wave)
	}
	return nil
}

// tap answers a player's tap that arrived at began, now or later.
func (s *session) tap(m wire.Tap, began time.Time) {
	if s.hand != nil {
		s.hand.Tap(s.g.o.Campaigns.Cached(s.seat.campaign), m.Drop, s.g.o.Clock())
	}
	t := &grab.Tap[TapOrigin]{
		User: s.user, Drop: m.Drop, Nodes: int(s.person.nodes.Load()), Quota: s.seat.allowed,
		Caller: TapOrigin{member: s.member, seat: s.seat, hand: s.hand, began: began},
	}
	a := &t.Caller
	a.idLen = copy(a.id[:], m.ID)
	if r, known := a.seat.gate.Tap(t); known {
		s.member.Send(a.result(make([]byte, 0, usualResult), t.Drop, r))
		a.recordAnswer(r.Outcome, time.Since(a.began))
	}
}

// noSuchDrop answers a tap with an invalid drop id.
func (s *session) noSuchDrop(req wire.Request) {
	began := time.Now()
	s.send(wire.Result{Type: wire.TypeResult, ID: req.ID, Drop: req.Drop, Outcome: outcome.UnknownDrop.String()})
	s.seat.countTap(outcome.UnknownDrop, time.Since(began))
}

// renew takes a new token of the same player, so that the connection outlives the one before. A refused token changes
// nothing: the one before remains valid until it expires.
func (s *session) renew(req wire.Request) {
	ctx, cancel := s.forBackends()
	defer cancel()
	grant, err := s.g.o.Players.Grant(ctx, req.Token)
	switch {
	case errors.Is(err, auth.ErrKeysUnavailable):
		s.sendError(req.ID, refusalOf(err).answer)
	case err != nil:
		s.g.o.Log.DebugContext(ctx, "bad new token", "addr", s.addr, "err", err)
		s.complain(req.ID, wire.CodeBadToken, "the new token is not valid: "+err.Error())
	case grant.User != s.user:
		s.complain(req.ID, wire.CodeOtherPlayer, "the new token is another player's; connect anew to play as them")
	case !s.extend(grant.Until):
		s.complain(req.ID, wire.CodeBadToken, "the new token has expired")
	default:
		s.g.people.add(s.user, s, s.g.o.Profile(grant))
		s.send(wire.Renewed{Type: wire.TypeRenewed, ID: req.ID, ExpiresAt: grant.Until})
	}
}
