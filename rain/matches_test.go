package rain_test

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestMatches: a request that is sent again finds its rain by its settings, each of which counts.
func TestMatches(t *testing.T) {
	t.Parallel()
	r := testRain()
	spec := rain.RainSpec{
		DurationMS: r.DurationMS, DropsPerSecond: r.DropsPerSecond, FallMS: r.FallMS, DecoyPercent: r.DecoyPercent,
		Pacing: r.Pacing, Odds: r.Odds, BeatMS: r.BeatMS,
	}
	for name, tc := range map[string]struct {
		change func(*rain.RainSpec)
		want   bool
	}{
		"the same":         {func(*rain.RainSpec) {}, true},
		"any relative one": {func(s *rain.RainSpec) { s.StartsInMS = new(int64(7)) }, true},
		"its own start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt) }, true},
		"another start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt + 1) }, false},
		"another duration": {func(s *rain.RainSpec) { s.DurationMS++ }, false},
		"another density":  {func(s *rain.RainSpec) { s.DropsPerSecond++ }, false},
		"another fall":     {func(s *rain.RainSpec) { s.FallMS++ }, false},
		"another share":    {func(s *rain.RainSpec) { s.DecoyPercent++ }, false},
		"another pacing":   {func(s *rain.RainSpec) { s.Pacing = rain.PacingEven }, false},
		"other odds":       {func(s *rain.RainSpec) { s.Odds = rain.OddsAuto }, false},
		"other beats":      {func(s *rain.RainSpec) { s.BeatMS++ }, false},
		"nothing like it":  {func(s *rain.RainSpec) { *s = rain.RainSpec{StartsAt: new(r.StartsAt)} }, false},
	} {
		s := spec
		tc.change(&s)
		testenv.Equal(t, r.Matches(s), tc.want, "%s", name)
	}
}
