package doctor

import (
	"fmt"
	"strings"
	"time"

	"redrain/grab/store"
	"redrain/server/cluster"
	"redrain/server/health"
)

// reading is a clock beside this machine's.
type reading struct {
	of    string
	ahead time.Duration
}

// readClock compares a clock with this machine's. A difference of less than half the round trip counts as none.
func readClock(of string, ask func() (time.Time, error)) (reading, error) {
	began := time.Now()
	shows, err := ask()
	half := time.Since(began) / 2
	ahead := shows.Sub(began.Add(half))
	if ahead.Abs() <= half {
		ahead = 0
	}
	return reading{of, ahead}, err
}

// compare adds the findings about several back ends: their clocks, and whether Redis and the ledger belong together.
func (r *report) compare(namespace string) {
	if len(r.clocks) > 0 {
		r.compareClocks()
	}
	if r.redis == nil || r.holder == nil {
		return
	}
	const check = "redis_installation"
	switch reason := cluster.Mismatch(*r.redis, *r.holder, namespace); {
	case reason != "":
		r.add(health.Fail, check, "nodes do not use this Redis: %s", reason)
	case *r.holder == "":
		r.add(health.OK, check, "the ledger has no Redis yet, and takes this one")
	case *r.redis == "":
		r.add(health.Warn, check, "Redis is empty, and the ledger has another one; correct --redis, or rebuild the "+
			"campaigns in this one")
	default:
		r.add(health.OK, check, "it is the Redis of the ledger")
	}
}

func (r *report) compareClocks() {
	least, most := time.Duration(0), time.Duration(0) // this machine's
	var texts []string
	for _, c := range r.clocks {
		least, most = min(least, c.ahead), max(most, c.ahead)
		if c.ahead.Abs() >= store.ClockStep {
			texts = append(texts, fmt.Sprintf("%s differs from this machine by %s", c.of, c.ahead.Round(time.Second)))
		}
	}
	if texts == nil && most-least >= store.ClockStep {
		texts = []string{fmt.Sprintf("the back ends differ by %s", (most - least).Round(time.Second))}
	}
	r.addIf(texts == nil, "clocks", "the back ends and this machine have the same time", health.Warn,
		strings.Join(texts, ", ")+"; run NTP everywhere")
}
