package gateway

import (
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// Settled tells each player that is here, or on the way, about all their claims in one message. It is called once for
// each notice, on every node; most of the players of a large campaign are on other nodes.
func (g *Gateway) Settled(campaign string, n cluster.Settled) {
	g.remember(campaign, n.Claims)
	messages := map[string]*wire.Settled{}
	for _, c := range n.Claims {
		m := messages[c.User]
		if m == nil {
			if !g.concerns(c.User) {
				continue
			}
			m = &wire.Settled{Type: wire.TypeSettled}
			messages[c.User] = m
		}
		m.Claims = append(m.Claims, wire.SettledClaim{Claim: c.Claim, Amount: c.Amount})
		m.Balance = c.Balance
	}
	for user, m := range messages {
		text := wire.Encode(m) // before the lock that joins take
		g.arrivals.tell(user, m, func() { g.o.Lobby.ToUser(user, func() []byte { return text }) })
	}
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

// remember lets this node know the wins that other nodes have given, so that it answers a tap that is sent again
// with the same win, also where it knows the stock to be sold out and would not ask Redis.
func (g *Gateway) remember(campaign string, claims []cluster.SettledClaim) {
	c := g.o.Campaigns.Cached(campaign)
	if c == nil || g.o.Lobby.Room(campaign) == nil {
		return // nobody is here; who comes brings their wins
	}
	gate := g.o.Gate(c)
	for _, claim := range claims {
		if !g.concerns(claim.User) {
			continue // only players of this node's are remembered
		}
		gate.Remember(claim.User, []rain.Win{{User: claim.User, Packet: claim.Packet, Amount: claim.Amount,
			Drop: claim.Drop}})
	}
}
