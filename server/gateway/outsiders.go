package gateway

import (
	"context"
	"errors"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/payout/ledger/playerlist"
	"redrain/rain"
	"redrain/room"
)

// refusal is how somebody is told that they may not take part.
type refusal struct {
	code   string // of the error
	closes int    // the close code
}

// outsider is how an error is told to somebody who may not take part; nil for any other error and for none.
func outsider(err error) *refusal {
	switch {
	case errors.Is(err, playerlist.ErrNotInvited):
		return &refusal{wire.CodeNotInvited, room.CodeNotInvited}
	case errors.Is(err, playerlist.ErrDenied):
		return &refusal{wire.CodeDenied, room.CodeSentAway}
	}
	return nil
}

// invited lets a player in who may take part.
func (s *session) invited(ctx context.Context, c *rain.Campaign, user string) (grab.Quota, error) {
	if err := s.g.o.MayPlay(ctx, c, user, s.addr); err != nil {
		return nil, err
	}
	allowed, err := s.letIn(ctx, c, user)
	if err != nil {
		return nil, err
	}
	if err := s.vetted(ctx, c); err != nil {
		s.g.leaveDoor(c.ID, s.addr, user, true) // for somebody else
		return nil, err
	}
	return allowed, nil
}

// vetted asks the operator's risk system about a player who says hello. It comes last, so that nobody asks it who does
// not come in anyway; and once, so that it knows nothing of moves from room to room.
func (s *session) vetted(ctx context.Context, c *rain.Campaign) error {
	if s.asking == nil {
		return nil
	}
	who := *s.asking
	who.Campaign, s.asking = c.ID, nil
	return s.g.o.Ask(ctx, who)
}

// Present is a connection of a player, in a room or on the way to it.
type Present struct {
	User, Address string
	Campaign      *rain.Campaign // nil where this node does not know it
	session       *session
}

// Present are the connections of this node's players.
func (g *Gateway) Present() (all []Present) {
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	for user, one := range g.people.of {
		for s := range one.sessions {
			p := Present{User: user, Address: s.addr, session: s}
			if campaign := s.bound.Load(); campaign != nil {
				p.Campaign = g.o.Campaigns.Cached(*campaign)
			}
			all = append(all, p)
		}
	}
	return all
}

// SendAway ends a connection of a player who may not take part, and says why.
func (g *Gateway) SendAway(p Present, why error) {
	if how := outsider(why); how != nil {
		p.session.send(wire.Error{Type: wire.TypeError, Code: how.code, Message: why.Error()})
		p.session.sendAway(how.closes, why.Error())
	}
}

// Denied ends a player's connections: they may not take part any more.
func (g *Gateway) Denied(user string) {
	for _, s := range g.people.connections(user) {
		g.SendAway(Present{session: s}, playerlist.ErrDenied)
	}
}
