package store_test

import (
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/rain"
)

// TestARainBeginsALittleEarly: the script takes taps a quarter of a second before the start by Redis's clock,
// because the nodes' clocks differ a little, and none seconds before it.
func TestARainBeginsALittleEarly(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		for startsInMS, want := range map[int64]outcome.Outcome{
			200: outcome.Won, 3_000: outcome.NotOpen,
		} {
			gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
			gm.LetItRain(func(r *rain.Rain) { r.StartsAt = gm.Options.Clock() + startsInMS })
			if got := gm.BatchOf([2]string{"u", "0.0"}); got[0].Outcome != want {
				t.Errorf("%d ms before the start: %s, want %s", startsInMS, got[0].Outcome, want)
			}
		}
	})
}
