package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/timeout"
)

// welcomeClaims is the number of a player's newest claims in the welcome.
const welcomeClaims = 100

// welcome builds a player's welcome. It also gives this node the player's wins. So a tap sent again after a reconnect
// is answered without asking Redis, also if the stock is sold out.
func (g *shared) welcome(ctx context.Context, c *rain.Campaign, user string, id wire.ID,
	until int64) (wire.Welcome, error) {
	wins, err := g.o.Wins.PlayersWins(ctx, c, user)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("read the player's wins: %w", err)
	}
	g.o.Gate(c).Remember(user, wins.Confirmed)
	g.o.Gate(c).RememberUnsure(user, wins.Unconfirmed)
	now := g.o.Clock()
	profile, _ := g.Profile(user)
	return wire.Welcome{
		Type: wire.TypeWelcome, ID: id, User: user, Profile: profile, ServerTime: now,
		Campaign: wire.CampaignOf(c, now), Rain: wire.RainOf(c.Current(), now, c.Status != rain.Open),
		Claims: g.claims(ctx, c, user, wins.Confirmed), ClaimsTotal: wins.Total - len(wins.Unconfirmed),
		Limits: wire.Limits{TapsPerSecond: g.o.TapRate}, ExpiresAt: until,
	}, nil
}

// ranks returns the ranks of a campaign's packets; nil if they are unknown.
func (g *shared) ranks(c *rain.Campaign) *rain.Ranks {
	if g.o.Amounts == nil {
		return nil
	}
	amounts, err := g.o.Amounts.Of(c)
	if err != nil {
		return nil // an invalid campaign has no packets
	}
	return amounts.Ranks()
}

// claims returns the newest of a player's wins, newest first, with their states. If the database does not answer,
// they are "granted" for now. This node knows no more, and the player need not wait for it.
func (g *shared) claims(ctx context.Context, c *rain.Campaign, user string, wins []rain.Win) []wire.Claim {
	claims := make([]wire.Claim, 0, min(len(wins), welcomeClaims))
	ids, ranks := make([]string, 0, cap(claims)), g.ranks(c)
	for i := len(wins) - 1; i >= 0 && len(claims) < welcomeClaims; i-- {
		w := wins[i]
		id := rain.ClaimID(c.ID, w.Packet)
		claims = append(claims, wire.Claim{Claim: id, Packet: strconv.Itoa(w.Packet), Amount: w.Amount,
			State: string(ledger.StateGranted), Luck: ranks.Luck(w.Amount)})
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return claims
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Glance)
	defer cancel()
	states, err := g.o.Claims.ClaimStates(ctx, user, ids)
	if err != nil && !errors.Is(err, context.Canceled) {
		g.o.Log.WarnContext(ctx, "read the states of claims in the ledger", "campaign", c.ID, "err", err)
	}
	for i := range claims {
		if state, ok := states[ids[i]]; ok {
			state, claims[i].Held = state.Told()
			claims[i].State = string(state)
		}
	}
	return claims
}
