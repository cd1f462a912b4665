package cli

import (
	"context"
	"fmt"
	"slices"

	"redrain/client"
	"redrain/rain"
)

// beatLuck is one beat of a rain for one player.
type beatLuck struct {
	Beat  int64     `json:"beat"`
	At    int64     `json:"at"` // when it began, Unix ms
	Odds  rain.Odds `json:"odds"`
	Lucky bool      `json:"lucky"`           // by the seed
	Claim string    `json:"claim,omitempty"` // what the player was given for it
}

// claims are all claims of the player in the campaign, where one is asked about.
func (c *verifyCmd) claims(ctx context.Context, api *client.Client) ([]client.Claim, error) {
	if c.User == "" {
		return nil, nil
	}
	all, err := collect(client.All(ctx, client.Pages[client.Claim](api, nil, "users", c.User, "claims")))
	return slices.DeleteFunc(all, func(claim client.Claim) bool {
		of, _, err := rain.ParseClaimID(claim.Claim)
		return err != nil || of != c.Campaign
	}), err
}

// luck computes each beat of a player, and lists what they were given that the seed had not let them win. That they
// were given nothing in a beat with luck is no fault: they may not have tapped, or nothing was left.
func (v *verification) luck(r *rain.Rain, user string, claims []client.Claim) {
	given := map[int64]string{}
	c := rain.Campaign{Status: rain.Closed, Rains: []rain.Rain{*r}}
	for _, claim := range claims {
		t, ok := rain.ParseTicket(claim.Ticket)
		if !ok || !r.Has(t.N) {
			continue // of another rain
		}
		if err := c.CheckLuck(user, claim.Ticket); err != nil {
			v.Faults = append(v.Faults, fmt.Sprintf("claim %s of player %s, ticket %s: %s", claim.Claim, user,
				claim.Ticket, err))
		}
		if t.IsBeat() {
			given[r.Beat(t.N)] = claim.Claim
		}
	}
	if v.OK = len(v.Faults) == 0; !r.Draws() {
		return
	}
	for beat := range r.Beats() {
		v.Beats = append(v.Beats, beatLuck{Beat: beat, At: r.BeatAt(beat), Odds: r.OddsFor(user, beat),
			Lucky: r.LuckyIn(user, beat), Claim: given[beat]})
	}
}

// beats shows a player's beats.
func (t *table) beats(beats []beatLuck) {
	for _, b := range beats {
		luck := "no luck"
		if b.Lucky {
			luck = "lucky"
		}
		t.row(fmt.Sprintf("beat %d", b.Beat), luck, fmt.Sprintf("%s, odds %s", t.at(b.At), b.Odds), b.Claim)
	}
}
