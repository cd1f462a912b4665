package gateway

import (
	"context"
	"errors"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
)

// refusal is the answer to a player who may not take part.
type refusal struct {
	code   string // of the error
	closes int    // the close code
}

// outsider returns the refusal for an error; nil for other errors and for none.
func outsider(err error) *refusal {
	switch {
	case errors.Is(err, standing.ErrNotInvited):
		return &refusal{wire.CodeNotInvited, room.CodeNotInvited}
	case errors.Is(err, standing.ErrDenied):
		return &refusal{wire.CodeDenied, room.CodeSentAway}
	}
	return nil
}

// invited admits a player who may take part.
func (s *session) invited(ctx context.Context, c *rain.Campaign, user string) (grab.Quota, error) {
	if err := s.g.o.MayPlay(ctx, c, user, s.addr); err != nil {
		return nil, err
	}
	allowed, err := s.letIn(ctx, c, user)
	if err != nil {
		return nil, err
	}
	if err := s.vetted(ctx, c); err != nil {
		s.g.leaveDoor(c.ID, s.addr, user, true) // for another player
		return nil, err
	}
	return allowed, nil
}

// vetted asks the operator's risk system about a player who says hello. It comes last, so that refused players cause
// no request. It asks once, so that the system receives no moves from room to room.
func (s *session) vetted(ctx context.Context, c *rain.Campaign) error {
	if s.asking == nil {
		return nil
	}
	who := *s.asking
	who.Campaign, s.asking = c.ID, nil
	return s.g.o.Ask(ctx, who)
}

// Present is a connection of a player, in a room or joining one.
type Present struct {
	User, Address string
	Campaign      *rain.Campaign // nil if this node does not have it
	session       *session
}

// Present returns the connections of this node's players.
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

// SendAway closes a connection of a player who may not take part, with the reason.
func (g *Gateway) SendAway(p Present, why error) {
	if how := outsider(why); how != nil {
		p.session.send(wire.Error{Type: wire.TypeError, Code: how.code, Message: why.Error()})
		p.session.sendAway(how.closes, why.Error())
	}
}

// Denied closes a player's connections: they may not take part any more.
func (g *Gateway) Denied(user string) {
	for _, s := range g.people.connections(user) {
		g.SendAway(Present{session: s}, standing.ErrDenied)
	}
}
