package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// errUnknownCampaign is a room that there is not.
var errUnknownCampaign = posting.ErrUnknownCampaign

// welcomeClaims is how many of a player's newest claims come with the welcome.
const welcomeClaims = 100

// welcome gathers what a player is told on coming in, and lets this node remember the player's wins, so that a tap sent
// again after a reconnect is answered without asking Redis, also where the stock is sold out.
func (g *shared) welcome(ctx context.Context, c *rain.Campaign, user string, id wire.ID,
	until int64) (wire.Welcome, error) {
	wins, err := g.o.Wins.PlayersWins(ctx, c, user)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("reading the player's wins: %w", err)
	}
	g.o.Gate(c).Remember(user, wins.Confirmed)
	g.o.Gate(c).RememberUnsure(user, wins.Unconfirmed)
	now := g.o.Clock()
	return wire.Welcome{
		Type: wire.TypeWelcome, ID: id, User: user, ServerTime: now,
		Campaign: wire.CampaignOf(c, now), Rain: wire.RainOf(c.Current(), now, c.Status != rain.Open),
		Claims: g.claims(ctx, c, user, wins.Confirmed), ClaimsTotal: wins.Total - len(wins.Unconfirmed),
		Limits: wire.Limits{TapsPerSecond: g.o.TapRate}, ExpiresAt: until,
	}, nil
}

// ranks tell how large a win of a campaign is among all its packets; nil where nobody knows.
func (g *shared) ranks(c *rain.Campaign) *rain.Ranks {
	if g.o.Amounts == nil {
		return nil
	}
	amounts, err := g.o.Amounts.Of(c)
	if err != nil {
		return nil // a campaign that makes no sense has no packets either
	}
	return amounts.Ranks()
}

// claims are the newest of a player's wins, newest first, each with what has become of it. A database that does not
// answer makes them "granted" for now: that is what this node knows, and no reason to keep the player out.
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
	states, err := g.o.Claims.ClaimStates(ctx, user, ids)
	if err != nil && !errors.Is(err, context.Canceled) {
		g.o.Log.Warn("the ledger cannot say what has been settled", "campaign", c.ID, "err", err)
	}
	for i := range claims {
		if state, ok := states[ids[i]]; ok {
			state, claims[i].Held = state.Told()
			claims[i].State = string(state)
		}
	}
	return claims
}
