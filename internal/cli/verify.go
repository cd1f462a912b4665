package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redrain/client"
	"redrain/internal/wire"
	"redrain/rain"
)

type verifyCmd struct {
	Rain       string `placeholder:"ID" help:"Only this rain. Left out: every rain of the campaign that has ended."`
	User       string `placeholder:"ID" help:"Also list each beat of this player: whether the seed let them win, and what they were given. Of rains with odds below 1."`
	Commitment string `placeholder:"HEX" help:"The commitment as you noted it in the countdown; with --rain. Left out: the one that the server says it announced."`
	oneCampaign
	Only string `arg:"" optional:"" name:"rain-id" help:"The same as --rain."`
}

// AfterApply takes the rain from wherever it was given.
func (c *verifyCmd) AfterApply() error {
	if c.Only != "" && c.Rain != "" && c.Only != c.Rain {
		return fmt.Errorf("--rain %s and %s: give one rain", c.Rain, c.Only)
	}
	c.Rain = cmp.Or(c.Rain, c.Only)
	return nil
}

func (c *verifyCmd) check() (faults faultList) {
	faults.when(c.Commitment != "" && c.Rain == "", "--commitment: belongs to one rain; say which with --rain")
	return faults
}

// verification is the result for one rain.
type verification struct {
	Rain       string   `json:"rain"`
	OK         bool     `json:"ok"`
	Commitment string   `json:"commitment"`
	Seed       string   `json:"seed"`
	Drops      int      `json:"drops"`
	Digest     string   `json:"digest"`
	Faults     []string `json:"faults,omitempty"`

	Beats []beatLuck `json:"beats,omitempty"` // of one player
}

// Run recomputes the rains. It fails where one did not fall as its commitment promised.
func (c *verifyCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		campaign, err := api.Campaign(ctx, c.Campaign)
		if err != nil {
			return err
		}
		rains, err := c.ended(campaign)
		if err != nil {
			return err
		}
		claims, err := c.claims(ctx, api)
		if err != nil {
			return err
		}
		all, good := verifications{}, true
		for _, r := range rains {
			f, err := api.Fairness(ctx, c.Campaign, r.ID)
			if err != nil {
				return err
			}
			if f.Seed == "" { // it is published when no drop can be tapped any more
				return fmt.Errorf("rain %s: its seed is not revealed yet; try again in a second", r.ID)
			}
			v, again := verifyRain(r, f, c.Commitment)
			if c.User != "" && again != nil {
				v.luck(again, c.User, claims)
			}
			all, good = append(all, v), good && v.OK
		}
		if !good {
			err = fmt.Errorf("campaign %s: not every rain is what its commitment promised", c.Campaign)
		}
		return errors.Join(app.show(c.JSON, all), err)
	})
}

// ended are the rains to verify.
func (c *verifyCmd) ended(campaign client.Campaign) ([]wire.Rain, error) {
	var rains []wire.Rain
	for _, r := range campaign.Rains {
		if r.ID == c.Rain && r.Phase != rain.PhaseEnded {
			return nil, fmt.Errorf("rain %s has not ended: its seed is still secret", r.ID)
		}
		if r.Phase == rain.PhaseEnded && (c.Rain == "" || c.Rain == r.ID) {
			rains = append(rains, r)
		}
	}
	if len(rains) > 0 {
		return rains, nil
	}
	if c.Rain != "" {
		return nil, rain.ErrUnknownRain
	}
	return nil, errors.New("no rain of the campaign has ended yet")
}

// verifyRain recomputes a rain and lists what does not agree. noted is the commitment that the caller trusts, or "".
// It also returns the rain, or nil if the rain cannot be computed.
func verifyRain(r wire.Rain, f client.Fairness, noted string) (v verification, again *rain.Rain) {
	v = verification{Rain: r.ID, Commitment: r.Commitment, Seed: f.Seed}
	fault := func(format string, args ...any) { v.Faults = append(v.Faults, fmt.Sprintf(format, args...)) }
	if noted != "" {
		v.Commitment = strings.ToLower(noted)
	}
	if f.Commitment != v.Commitment {
		fault("the server now reports the commitment %s", f.Commitment)
	}
	seed, err := rain.ParseSeed(f.Seed)
	if err != nil {
		fault("the seed that was revealed: %v", err)
		return v, nil
	}
	if got := seed.Commitment(); got != v.Commitment {
		fault("the seed that was revealed gives the commitment %s", got)
	}
	s := f.Schedule
	if r.ID != s.Rain || r.Campaign != s.Campaign || r.StartsAt != s.StartsAt || r.Settings != s.RainSettings ||
		r.FirstWave != s.FirstWave {
		fault("the schedule differs from the announced rain")
	}
	spec := rain.RainSpec{Settings: s.RainSettings}
	record, known := rain.OddsRecordOf(s.OddsRecord, s.GuestsOddsRecord)
	if !known || record != "" && s.Odds != rain.OddsAuto {
		fault("the record of the odds is invalid")
		return v, nil
	}
	if err := spec.Validate(s.StartsAt); err != nil {
		fault("the schedule cannot be that of a rain: %v", err)
		return v, nil // computing it with such settings might never end
	}
	again = &rain.Rain{ID: s.Rain, Campaign: s.Campaign, StartsAt: s.StartsAt, Settings: s.RainSettings,
		OddsRecord: record, FirstWave: s.FirstWave, Seed: seed}
	v.Drops, v.Digest = again.Drops(), again.Digest()
	if v.Drops != s.Drops || again.Waves() != s.Waves {
		fault("%d drops in %d waves are claimed, the seed gives %d in %d", s.Drops, s.Waves, v.Drops, again.Waves())
	}
	if v.Digest != s.Digest {
		fault("the drops have the digest %s, the seed gives %s", s.Digest, v.Digest)
	}
	v.OK = len(v.Faults) == 0
	return v, again
}

type verifications []verification

func (all verifications) show(t *table) {
	for _, v := range all {
		if v.OK {
			t.row("rain "+v.Rain, "as announced", fmt.Sprintf("%d drops, digest %s", v.Drops, v.Digest))
		}
		for _, f := range v.Faults {
			t.row("rain "+v.Rain, "NOT AS ANNOUNCED", f)
		}
		for _, b := range v.Beats {
			luck := "no luck"
			if b.Lucky {
				luck = "lucky"
			}
			t.row(fmt.Sprintf("beat %d", b.Beat), luck, fmt.Sprintf("%s, odds %s", t.at(b.At), b.Odds), b.Claim)
		}
	}
}

// beatLuck is one beat of a rain for one player.
type beatLuck struct {
	Beat  int64     `json:"beat"`
	At    int64     `json:"at"` // when it began, Unix ms
	Odds  rain.Odds `json:"odds"`
	Lucky bool      `json:"lucky"`           // by the seed
	Claim string    `json:"claim,omitempty"` // the claim that the player got for it
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

// luck computes each beat of a player, and reports claims without luck. A lucky beat without a claim is no fault: the
// player may not have tapped, or nothing was left.
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
