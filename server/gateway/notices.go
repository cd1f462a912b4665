package gateway

import (
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// Settled tells each player that is here, or on the way, about all their claims in one message. It is called for each
// notice, on every node that hears it; many of its players are on other nodes, and a notice may come again. A player's
// claims follow each other.
func (g *Gateway) Settled(campaign string, n cluster.Settled) {
	gate := g.gateOf(campaign)
	for rest := n.Claims; len(rest) > 0; {
		user, of := rest[0].User, 1
		for of < len(rest) && rest[of].User == user {
			of++
		}
		if g.concerns(user) {
			g.settledOf(gate, user, rest[:of])
		}
		rest = rest[of:]
	}
}

// settledOf tells a player about some claims.
func (g *Gateway) settledOf(gate Gate, user string, claims []cluster.SettledClaim) {
	m := &wire.Settled{Type: wire.TypeSettled, Claims: make([]wire.SettledClaim, 0, len(claims))}
	for _, c := range claims {
		// So this node also answers a tap that is sent again with the same win, where another node has given it.
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
	g.arrivals.tell(user, m, func() { g.o.Lobby.ToUserLater(user, func() []byte { return text }) })
}

// gateOf is the gate of a campaign that players of this node are in; nil where there is none.
func (g *Gateway) gateOf(campaign string) Gate {
	c := g.o.Campaigns.Cached(campaign)
	if c == nil || g.o.Lobby.Room(campaign) == nil {
		return nil // nobody is here; who comes brings their wins
	}
	return g.o.Gate(c)
}

// concerns tells whether a notice about a player has to be told on this node. In this order: who takes their seat in
// between is found there. Who begins to arrive in between reads in the ledger what the notice says.
func (g *Gateway) concerns(user string) bool { return g.arrivals.expects(user) || g.o.Lobby.Has(user) }

// Withdrawn tells a player that is here how a withdrawal of theirs has ended.
func (g *Gateway) Withdrawn(n cluster.Withdrawn) {
	g.o.Lobby.ToUser(n.Withdrawal.User, func() []byte {
		return wire.Encode(
			wire.WithdrawalChange{Type: wire.TypeWithdrawal, Withdrawal: n.Withdrawal, Balance: n.Balance},
		)
	})
}
