package gateway

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/room"
)

// people holds the connections of this node's players, from hello to the end.
type people struct {
	several prometheus.Gauge // players who are on other nodes too

	mu sync.Mutex
	of map[string]*person // by player
}

// person is a player with all their connections on this node.
type person struct {
	sessions map[*session]struct{} // people.mu guards it
	face     wire.Face             // the player's display profile, by the newest token; people.mu guards it
	nodes    atomic.Int32          // number of the player's nodes, as far as is known; 0: this one
}

func newPeople(several prometheus.Gauge) *people {
	return &people{several: several, of: map[string]*person{}}
}

// add adds a connection of a player.
func (p *people) add(user string, s *session) *person {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		p.of[user] = &person{sessions: map[*session]struct{}{}}
	}
	p.of[user].sessions[s] = struct{}{}
	return p.of[user]
}

// name stores a player's display profile.
func (p *people) name(user string, face wire.Face) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.of[user]; one != nil {
		one.face = face
	}
}

// Face returns the display profile of a player of this node; false if the player is not here. It is safe for
// concurrent use.
func (g *Gateway) Face(user string) (wire.Face, bool) {
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	if one := g.people.of[user]; one != nil {
		return one.face, true
	}
	return wire.Face{}, false
}

// remove removes a connection; one that was never added does no harm.
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

// connections returns a player's connections on this node.
func (p *people) connections(user string) []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[user] == nil {
		return nil
	}
	return slices.Collect(maps.Keys(p.of[user].sessions))
}

// areOn stores the number of a player's nodes.
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

// Among stores the number of a player's nodes: the tap rate is shared among them.
func (g *Gateway) Among(user string, nodes int) { g.people.areOn(user, nodes) }

// TooMany closes a connection whose player has made too many newer ones. n is its number in Connections.
func (g *Gateway) TooMany(user string, n uint64) {
	for _, s := range g.people.connections(user) {
		if s.n == n {
			s.sendAway(room.CodeTooManySeats, "too many connections of this player: the newest stay")
		}
	}
}

// Sanctioned closes the connections of a player whom an operator has disconnected. If the player may come back, it
// closes only those that existed at that time.
func (g *Gateway) Sanctioned(one standing.Sanction) {
	if one.Act == standing.Unban {
		return
	}
	for _, s := range g.people.connections(one.User) {
		if one.Act == standing.Ban || s.since <= one.At {
			s.sendAway(room.CodeSentAway, sentAway)
		}
	}
}

// sentAway is the client's message beside room.CodeSentAway.
const sentAway = "an operator has ended this connection"

// sendAway ends the connection, and accepts no more messages from it. It is safe for concurrent use.
func (s *session) sendAway(code int, reason string) {
	s.out.Store(true)
	s.member.CloseAfterFlush(code, reason)
}
