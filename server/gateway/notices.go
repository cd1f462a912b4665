package gateway

import (
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// Settled notifies each seated or joining player of all their claims in one message. It is called for each notice, on
// every node that receives it. Many of its players are on other nodes, and a notice may come again. A player's claims
// are adjacent.
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
	g.arrivals.deliver(user, m, func() { g.o.Lobby.ToUserLater(user, func() []byte { return text }) })
}

// gateOf returns the gate of a campaign that players of this node are in; nil if there is none.
func (g *Gateway) gateOf(campaign string) Gate {
	c := g.o.Campaigns.Cached(campaign)
	if c == nil || g.o.Lobby.Room(campaign) == nil {
		return nil // no player is here; a joining one brings their wins
	}
	return g.o.Gate(c)
}

// concerns reports whether a notice about a player matters on this node. It checks arrivals first: a player who takes
// their seat in between is found in the lobby. A player who begins to join in between reads the settlement in the
// ledger.
func (g *Gateway) concerns(user string) bool { return g.arrivals.expects(user) || g.o.Lobby.Has(user) }

// Withdrawn notifies a player of the end of a withdrawal.
func (g *Gateway) Withdrawn(n cluster.Withdrawn) {
	g.o.Lobby.ToUser(n.Withdrawal.User, func() []byte {
		return wire.Encode(
			wire.WithdrawalChange{Type: wire.TypeWithdrawal, Withdrawal: n.Withdrawal, Balance: n.Balance},
		)
	})
}
