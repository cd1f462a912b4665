package live

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/rain"
)

// nearMS is the time before a rain from which it is near: enough to keep or add nodes for it.
const nearMS = int64(5 * time.Minute / time.Millisecond)

// IsNear reports whether a campaign's rain falls, or starts within five minutes.
func IsNear(c *rain.Campaign, now int64) bool {
	r := c.Current()
	return r != nil && r.StartsAt-now <= nearMS && now < r.EndsAt()
}

// MeasureNear registers the metric redrain_rain_near, for autoscalers. live returns the campaigns that may rain.
func MeasureNear(registerer prometheus.Registerer, live func() []*rain.Campaign, clock rain.Clock) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "redrain_rain_near", Help: "1 while a rain of any campaign falls or starts within five minutes, else 0.",
	}, func() float64 {
		now := clock()
		if slices.ContainsFunc(live(), func(c *rain.Campaign) bool { return IsNear(c, now) }) {
			return 1
		}
		return 0
	})
}
