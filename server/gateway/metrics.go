package gateway

import (
	"time"

	"redrain/grab/outcome"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds the counters of this package; other packages register their own. The names are the contract's.
type metrics struct {
	taps       [outcome.Count]prometheus.Counter
	tapSeconds prometheus.Histogram
	full       prometheus.Counter
	tooSoon    prometheus.Counter
	turnedAway prometheus.Counter
	refused    prometheus.Counter // hellos
	dropped    prometheus.Counter // messages and frames
	several    prometheus.Gauge   // players
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	count := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		tapSeconds: auto.NewHistogram(prometheus.HistogramOpts{
			Name:    "redrain_tap_seconds",
			Help:    "From a tap's arrival at the socket to its result being handed to the socket.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		full: count("redrain_full_refusals_total", "Connections refused because the node had no seat left."),
		tooSoon: count("redrain_arrivals_refused_total",
			"Connections refused for now because more arrived than the node accepts in a second."),
		turnedAway: count("redrain_not_admitted_total", "Hellos answered with a place in the waiting room."),
		refused: count("redrain_hello_refusals_total",
			"Hellos with a bad token or an unknown campaign."),
		dropped: count("redrain_over_budget_total",
			"Messages and WebSocket pings of players that were dropped because they were beyond the player's budget."),
		several: auto.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_players_on_several_nodes",
			Help: "Players of this node who are connected to other nodes too, so that the nodes share their tap rate.",
		}),
	}
	taps := auto.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_taps_total", Help: "Taps answered, by outcome.",
	}, []string{"outcome"})
	// Every outcome from the start, so that a dashboard shows zeros and not gaps.
	for _, o := range outcome.All() {
		m.taps[o] = taps.WithLabelValues(o.String())
	}
	return m
}

func (m *metrics) tap(o outcome.Outcome, took time.Duration) {
	m.taps[o].Inc()
	m.tapSeconds.Observe(took.Seconds())
}
