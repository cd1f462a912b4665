package gateway

import (
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// Settled tells each player that is here about all their claims in one message.
func (g *Gateway) Settled(campaign string, n cluster.Settled) {
	g.remember(campaign, n.Claims)
	messages := map[string]*wire.Settled{}
	for _, c := range n.Claims {
		m := messages[c.User]
		if m == nil {
			m = &wire.Settled{Type: wire.TypeSettled}
			messages[c.User] = m
		}
		m.Claims = append(m.Claims, wire.SettledClaim{Claim: c.Claim, Amount: c.Amount})
		m.Balance = c.Balance
	}
	g.arrivals.tell(messages, func(user string, m *wire.Settled) { g.o.Lobby.ToUser(user, func() []byte { return wire.Encode(m) }) })
}

// Withdrawn tells a player that is here how a withdrawal of theirs has ended.
func (g *Gateway) Withdrawn(n cluster.Withdrawn) {
	g.o.Lobby.ToUser(n.Withdrawal.User, func() []byte {
		return wire.Encode(wire.WithdrawalChange{Type: wire.TypeWithdrawal, Withdrawal: n.Withdrawal, Balance: n.Balance})
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
		gate.Remember(claim.User, []rain.Win{{User: claim.User, Packet: claim.Packet, Amount: claim.Amount,
			Drop: claim.Drop}})
	}
}
