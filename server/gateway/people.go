package gateway

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/wire"
	"redrain/payout/ledger/sanction"
	"redrain/room"
)

// people are the connections of this node's players, from hello to the end.
type people struct {
	several prometheus.Gauge // players who are on other nodes too

	mu sync.Mutex
	of map[string]*person // by player
}

// person is a player with all their connections of this node.
type person struct {
	sessions map[*session]struct{} // people.mu guards it
	face     wire.Face             // how the player is shown, by the newest token; people.mu guards it
	nodes    atomic.Int32          // on which the player is, as far as is known; 0: on this one
}

func newPeople(several prometheus.Gauge) *people {
	return &people{several: several, of: map[string]*person{}}
}

// add notes a connection of a player.
func (p *people) add(user string, s *session) *person {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		p.of[user] = &person{sessions: map[*session]struct{}{}}
	}
	p.of[user].sessions[s] = struct{}{}
	return p.of[user]
}

// name notes how a player is shown.
func (p *people) name(user string, face wire.Face) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.of[user]; one != nil {
		one.face = face
	}
}

// Face is how a player of this node is shown; false where the player is not here. Any goroutine may call it.
func (g *Gateway) Face(user string) (wire.Face, bool) {
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	if one := g.people.of[user]; one != nil {
		return one.face, true
	}
	return wire.Face{}, false
}

// remove is for a connection that is over; one that was never added does no harm.
func (p *people) remove(user string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		return
	}
	delete(p.of[user].sessions, s)
	if len(p.of[user].sessions) == 0 {
		p.changed(p.of[user], 1)
		delete(p.of, user)
	}
}

// connections are those that a player has on this node.
func (p *people) connections(user string) []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		return nil
	}
	return slices.Collect(maps.Keys(p.of[user].sessions))
}

// areOn notes on how many nodes a player is.
func (p *people) areOn(user string, nodes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.of[user]; one != nil {
		p.changed(one, nodes)
	}
}

// changed needs p.mu.
func (p *people) changed(one *person, nodes int) {
	was := one.nodes.Swap(int32(nodes)) //nolint:gosec // some few
	if was > 1 {
		p.several.Dec()
	}
	if nodes > 1 {
		p.several.Inc()
	}
}

// Among tells on how many nodes a player is: the tap rate is shared among them.
func (g *Gateway) Among(user string, nodes int) { g.people.areOn(user, nodes) }

// TooMany ends a connection whose player has made too many newer ones. n is what Connections knows it by.
func (g *Gateway) TooMany(user string, n uint64) {
	for _, s := range g.people.connections(user) {
		if s.n == n {
			s.sendAway(room.CodeTooManySeats, "too many connections of this player: the newest stay")
		}
	}
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
