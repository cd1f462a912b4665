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
	spec := rain.RainSpec{Settings: r.Settings}
	for name, tc := range map[string]struct {
		change func(*rain.RainSpec)
		want   bool
	}{
		"the same":         {func(*rain.RainSpec) {}, true},
		"any relative one": {func(s *rain.RainSpec) { s.StartsInMS = new(int64(7)) }, true},
		"its own start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt) }, true},
		"another start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt + 1) }, false},
		"another duration": {func(s *rain.RainSpec) { s.DurationMS++ }, false},
		"another pacing":   {func(s *rain.RainSpec) { s.Pacing = rain.PacingEven }, false},
		"other beats":      {func(s *rain.RainSpec) { s.BeatMS++ }, false},
		"nothing like it":  {func(s *rain.RainSpec) { *s = rain.RainSpec{StartsAt: new(r.StartsAt)} }, false},
	} {
		s := spec
		tc.change(&s)
		testenv.Equal(t, r.Matches(s), tc.want, "%s", name)
	}
}
