package api

import (
	"net/http"

	"redrain/internal/wire"
	"redrain/rain"
)

func (a *API) startRain(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	spec := rain.DefaultRain()
	if err := decode(body, &spec); err != nil {
		return 0, nil, err
	}
	if err := spec.Validate(a.o.Clock()); err != nil {
		return 0, nil, err
	}
	c, rn, err := a.o.Commands.StartRain(a.audited(r, who, "rain.start", nil), r.PathValue("id"), spec, key)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused), nil
}

func (a *API) stopRain(w http.ResponseWriter, r *http.Request, who caller) error {
	c, rn, err := a.o.Commands.StopRain(a.audited(r, who, "rain.stop", map[string]any{"rain": r.PathValue("rain")}),
		r.PathValue("id"), r.PathValue("rain"))
	if err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused))
	return nil
}

// fairnessView is what anybody needs to check a rain: the commitment from the beginning, the seed and the digest of all
// drops after the end.
type fairnessView struct {
	Commitment string       `json:"commitment"`
	Seed       string       `json:"seed,omitempty"`
	Schedule   scheduleView `json:"schedule"`
}

type scheduleView struct {
	Rain           string      `json:"rain"`
	Campaign       string      `json:"campaign"`
	StartsAt       int64       `json:"starts_at"`
	DurationMS     int64       `json:"duration_ms"`
	DropsPerSecond int         `json:"drops_per_second"`
	FallMS         int64       `json:"fall_ms"`
	DecoyPercent   int         `json:"decoy_percent"`
	Pacing         rain.Pacing `json:"pacing"`
	Odds           rain.Odds   `json:"odds"`
	BeatMS         int64       `json:"beat_ms"`
	// OddsRecord is with the odds "auto" only: the odds that were set, each with its first beat.
	OddsRecord []rain.OddsFrom `json:"odds_record,omitempty"`
	// GuestsOddsRecord is the same for guests, where they have a part of the packets for themselves.
	GuestsOddsRecord []rain.OddsFrom `json:"guests_odds_record,omitempty"`

	FirstWave int64  `json:"first_wave"`
	Waves     int64  `json:"waves"`
	Drops     int    `json:"drops"`
	Digest    string `json:"digest,omitempty"`
}

func (a *API) fairness(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	rn, err := c.Rain(r.PathValue("rain"))
	if err != nil {
		return err
	}
	v := fairnessView{Commitment: rn.Seed.Commitment(), Schedule: scheduleView{
		Rain: rn.ID, Campaign: c.ID, StartsAt: rn.StartsAt, DurationMS: rn.DurationMS,
		DropsPerSecond: rn.DropsPerSecond,
		FallMS:         rn.FallMS, DecoyPercent: rn.DecoyPercent, Pacing: rn.Pacing,
		Odds: rn.Odds, BeatMS: rn.BeatMS, FirstWave: rn.FirstWave, Waves: rn.Waves(),
		Drops: rn.Drops(),
	}}
	v.Schedule.OddsRecord, v.Schedule.GuestsOddsRecord = rn.OddsRecord.Lists()
	// Not before the last tap is decided: within the grace a drop can still be tapped.
	if now := a.o.Clock(); now >= rn.EndsAt() && now >= rn.TapsUntil() {
		v.Seed, v.Schedule.Digest = rn.Seed.Hex(), rn.Digest()
	}
	WriteJSON(w, http.StatusOK, v)
	return nil
}
