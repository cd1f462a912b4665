package gateway

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

// people holds the connections of this node's players, from hello to the end. A settlement may come between reading
// the ledger and joining the room. The lock delivers it exactly once.
type people struct {
	several prometheus.Gauge // players who are on other nodes too

	mu sync.Mutex
	of map[string]*person // by player
}

// person is a player with all their connections on this node. people.mu guards all but nodes.
type person struct {
	sessions map[*session]struct{}
	gates    map[string]Gate // of the campaigns whose rooms the player has been in
	profile  wire.Profile    // the player's display profile, by the newest token
	nodes    atomic.Int32    // number of the player's nodes, as far as is known; 0: this one
}

func newPeople(several prometheus.Gauge) *people {
	return &people{several: several, of: map[string]*person{}}
}

// add adds a connection of a player, with the display profile.
func (p *people) add(user string, s *session, profile wire.Profile) *person {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of[user]
	if one == nil {
		one = &person{sessions: map[*session]struct{}{}, gates: map[string]Gate{}}
		p.of[user] = one
	}
	one.sessions[s], one.profile = struct{}{}, profile
	return one
}

// Profile returns the display profile of a player of this node; false if the player is not here. It is safe for
// concurrent use.
func (g *shared) Profile(user string) (profile wire.Profile, isHere bool) {
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	if one := g.people.of[user]; one != nil {
		return one.profile, true
	}
	return profile, false
}

// remove removes a connection; one that was never added does no harm. With the last one the gates forget the player.
func (p *people) remove(user string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of[user]
	if one == nil {
		return
	}
	if delete(one.sessions, s); len(one.sessions) > 0 {
		return
	}
	for _, gate := range one.gates {
		gate.Forget(user)
	}
	p.changed(one, 1)
	delete(p.of, user)
}

// connections returns a player's connections on this node.
func (p *people) connections(user string) []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.of[user]; one != nil {
		return slices.Collect(maps.Keys(one.sessions))
	}
	return nil
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

// holdSettlements keeps the settlements that a joining connection misses. Call it before anything is read for the
// welcome, and end it with releaseSettlements.
func (p *people) holdSettlements(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.missed = &wire.Settled{Type: wire.TypeSettled}
}

// releaseSettlements passes the held settlements to take, which seats the player. No player is notified meanwhile.
// After the first call it does nothing.
func (p *people) releaseSettlements(s *session, take func(missed *wire.Settled)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if missed := s.missed; missed != nil {
		s.missed = nil
		take(missed)
	}
}

// news returns the missed claims that the welcome does not have already, or nil.
func news(missed *wire.Settled, welcome []wire.Claim) *wire.Settled {
	known := make(map[string]bool, len(welcome))
	for _, c := range welcome {
		known[c.Claim] = c.State == string(ledger.StateSettled)
	}
	missed.Claims = slices.DeleteFunc(missed.Claims, func(c wire.SettledClaim) bool { return known[c.Claim] })
	if len(missed.Claims) == 0 {
		return nil
	}
	return missed
}

// Settled notifies each seated or joining player of all their claims in one message. Every node receives the notice,
// perhaps twice. It skips players of other nodes and settlements it has delivered. A player's claims are adjacent.
func (g *Gateway) Settled(campaign string, n cluster.Settled) {
	var gate Gate
	if c := g.o.Campaigns.Cached(campaign); c != nil && g.o.Lobby.Room(campaign) != nil {
		gate = g.o.Gate(c) // without players here there is none; a joining one brings their wins
	}
	for rest := n.Claims; len(rest) > 0; {
		user, of := rest[0].User, 1
		for of < len(rest) && rest[of].User == user {
			of++
		}
		if _, isHere := g.Profile(user); isHere { // a player who comes later reads the settlement in the ledger
			g.settledOf(gate, user, rest[:of])
		}
		rest = rest[of:]
	}
}

// settledOf notifies a player of some claims.
func (g *Gateway) settledOf(gate Gate, user string, claims []cluster.SettledClaim) {
	m := &wire.Settled{Type: wire.TypeSettled, Claims: make([]wire.SettledClaim, 0, len(claims))}
	for _, c := range claims {
		// Then this node also answers a tap that is sent again with the same win, if another node has decided it.
		win := rain.Win{User: user, Packet: c.Packet, Amount: c.Amount, Drop: c.Drop}
		if gate != nil && !gate.Settled(user, win) {
			continue
		}
		m.Claims = append(m.Claims, wire.SettledClaim{Claim: c.Claim, Amount: c.Amount})
		m.Balance = c.Balance
	}
	if len(m.Claims) == 0 {
		return
	}
	text := wire.Encode(m) // before the lock that joins take
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	if one := g.people.of[user]; one != nil {
		for s := range one.sessions {
			if s.missed != nil {
				s.missed.Claims, s.missed.Balance = append(s.missed.Claims, m.Claims...), m.Balance
			}
		}
		g.o.Lobby.ToUserLater(user, func() []byte { return text })
	}
}

// Withdrawn notifies a player of the end of a withdrawal.
func (g *Gateway) Withdrawn(n cluster.Withdrawn) {
	g.o.Lobby.ToUser(n.Withdrawal.User, func() []byte {
		return wire.Encode(
			wire.WithdrawalChange{Type: wire.TypeWithdrawal, Withdrawal: n.Withdrawal, Balance: n.Balance},
		)
	})
}

// Among stores the number of a player's nodes: the tap rate is shared among them.
func (g *Gateway) Among(user string, nodes int) {
	g.people.mu.Lock()
	defer g.people.mu.Unlock()
	if one := g.people.of[user]; one != nil {
		g.people.changed(one, nodes)
	}
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
			if campaign := s.boundFor.Load(); campaign != nil {
				p.Campaign = g.o.Campaigns.Cached(*campaign)
			}
			all = append(all, p)
		}
	}
	return all
}

// SendAway closes a connection of a player who may not take part, with the reason.
func (g *Gateway) SendAway(p Present, why error) {
	if how := refusalOf(why); !how.answer.Retryable {
		p.session.sendError("", how.answer)
		p.session.sendAway(how.closeCode, how.reason)
	}
}

// Denied closes a player's connections: they may not take part any more.
func (g *Gateway) Denied(user string) {
	for _, s := range g.people.connections(user) {
		g.SendAway(Present{session: s}, standing.ErrDenied)
	}
}

// TooMany closes a connection whose player has made too many newer ones. n is its number in Connections.
func (g *Gateway) TooMany(user string, n uint64) {
	for _, s := range g.people.connections(user) {
		if s.number == n {
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
