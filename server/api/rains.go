package api

import (
	"net/http"

	"redrain/internal/openapi"
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
	return answer(w, wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused), nil)
}

// fairness answers with the means to check a rain: its commitment, and after its end the seed and the digest of its
// drops.
func (a *API) fairness(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	rn, err := c.Rain(r.PathValue("rain"))
	if err != nil {
		return err
	}
	v := openapi.Fairness{Commitment: rn.Seed.Commitment(), Schedule: openapi.Schedule{
		Rain: rn.ID, Campaign: c.ID, StartsAt: rn.StartsAt, DurationMS: rn.DurationMS,
		DropsPerSecond: rn.DropsPerSecond, FallMS: rn.FallMS, DecoyPercent: rn.DecoyPercent, Pacing: rn.Pacing,
		Odds: rn.Odds, BeatMS: rn.BeatMS, FirstWave: rn.FirstWave, Waves: rn.Waves(), Drops: rn.Drops(),
	}}
	v.Schedule.OddsRecord, v.Schedule.GuestsOddsRecord = rn.OddsRecord.Lists()
	// Not before the last tap is decided: within the grace a drop can still be tapped.
	if now := a.o.Clock(); now >= rn.EndsAt() && now >= rn.TapsUntil() {
		v.Seed, v.Schedule.Digest = rn.Seed.Hex(), rn.Digest()
	}
	return answer(w, v, nil)
}
