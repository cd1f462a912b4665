package gateway

import (
	"sync"

	"redrain/payout/ledger/sanction"
	"redrain/room"
)

// people are the connections of this node's players, from hello to the end.
type people struct {
	mu sync.Mutex
	of map[string]map[*session]struct{} // by player
}

func newPeople() *people { return &people{of: map[string]map[*session]struct{}{}} }

// add notes a connection of a player.
func (p *people) add(user string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		p.of[user] = map[*session]struct{}{}
	}
	p.of[user][s] = struct{}{}
}

// remove is for a connection that is over; one that was never added does no harm.
func (p *people) remove(user string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of[user], s)
	if len(p.of[user]) == 0 {
		delete(p.of, user)
	}
}

// connections are those that a player has on this node.
func (p *people) connections(user string) []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*session, 0, len(p.of[user]))
	for s := range p.of[user] {
		list = append(list, s)
	}
	return list
}

// Sanctioned ends the connections of a player that an operator has sent away; of one who may come back, those that
// were there at that time.
func (g *Gateway) Sanctioned(one sanction.Sanction) {
	if one.Act == sanction.Unban {
		return
	}
	for _, s := range g.people.connections(one.User) {
		if one.Act == sanction.Ban || s.since <= one.At {
			s.sendAway(room.CodeSentAway, sentAway)
		}
	}
}

// sentAway is what a client reads beside room.CodeSentAway.
const sentAway = "an operator has ended this connection"

// sendAway ends the connection, and takes nothing from it any more. Any goroutine may call it.
func (s *session) sendAway(code int, reason string) {
	s.out.Store(true)
	s.member.CloseAfterFlush(code, reason)
}
