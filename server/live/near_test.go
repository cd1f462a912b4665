package live

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestRainNear: a rain of any campaign is near from five minutes before its start until its end.
func TestRainNear(t *testing.T) {
	t.Parallel()
	const start, minute = 1_000_000, 60_000
	r := rain.Rain{StartsAt: start, Settings: rain.Settings{DurationMS: 10_000, FallMS: 4_000}}
	none, some := &rain.Campaign{}, &rain.Campaign{Rains: []rain.Rain{{StartsAt: 0}, r}}
	var now int64
	registry := prometheus.NewRegistry()
	MeasureNear(registry, func() []*rain.Campaign { return []*rain.Campaign{none, some} },
		func() int64 { return now })
	for _, c := range []struct {
		at   int64
		want float64
	}{
		{start - 5*minute - 1, 0}, {start - 5*minute, 1}, {start, 1}, {start + 13_999, 1}, {start + 14_000, 0},
	} {
		now = c.at
		testenv.Equal(t, testutil.ToFloat64(registry), c.want, "near at %d", c.at)
	}
	testenv.Equal(t, IsNear(none, start), false, "without a rain")
}
