package gateway

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/risk"
)

// Gate takes the taps on one campaign. [grab.Gate] implements it.
type Gate interface {
	// Tap answers at once if the answer is known; otherwise Results.Answer receives it later.
	Tap(t *grab.Tap[TapOrigin]) (r outcome.Result, known bool)
	// Remember caches wins that were read from Redis; RememberUnsure adds wins that the player may not be notified of
	// yet.
	Remember(user string, wins []rain.Win)
	RememberUnsure(user string, wins []rain.Win)
	// Settled adds a win that is in the ledger, and reports whether that is news.
	Settled(user string, win rain.Win) (news bool)
	// Forget removes a player who has left this node.
	Forget(user string)
}

// seat is a player's membership in a campaign's room. It does not change; a move makes another.
type seat struct {
	campaign string
	gate     Gate
	count    *live.CampaignCount
	metrics  *metrics
	ranks    *rain.Ranks // of the campaign's amounts
	allowed  grab.Quota  // the shared quota of the player; nil: only the campaign limits the player
}

// countTap counts a tap that was answered.
func (s *seat) countTap(o outcome.Outcome, took time.Duration) {
	s.count.Tap(o, took)
	s.metrics.taps[o].Inc()
	s.metrics.tapSeconds.Observe(took.Seconds())
}

// TapOrigin has the data with which Results answers a tap: member, seat, id, time. It is kept in the tap, not beside
// it: one allocation for each tap.
type TapOrigin struct {
	member *room.Member
	seat   *seat
	hand   *risk.Hand // nil: no tap profile
	began  time.Time
	id     [wire.MaxID]byte
	idLen  int
}

// recordAnswer counts the tap.
func (a *TapOrigin) recordAnswer(o outcome.Outcome, took time.Duration) {
	if o == outcome.Won {
		a.hand.Won()
	}
	a.seat.countTap(o, took)
}

// result writes the tap's result.
func (a *TapOrigin) result(b []byte, drop rain.DropID, r outcome.Result) []byte {
	m := wire.TapResult{
		ID: a.id[:a.idLen], Drop: drop, Outcome: r.Outcome.String(), Campaign: a.seat.campaign, Packet: r.Packet,
		Amount: r.Amount,
	}
	if r.Outcome == outcome.Won {
		m.Luck = a.seat.ranks.Luck(r.Amount)
	}
	return m.Append(b)
}

const (
	// usualResult is the size that most results fit into, in bytes.
	usualResult = 160
	// slab is the size of the buffers for the results of a batch. Larger ones would be less work; but a slow reader
	// keeps a complete buffer for one result.
	slab = 4 << 10
)

// Results delivers the results of taps to their players.
type Results struct{ Lobby *room.Lobby }

// Answer is a grab.Answer: it takes all results of a batch.
func (r Results) Answer(taps []*grab.Tap[TapOrigin]) {
	out := bundles.Get().(*room.Bundle) //nolint:forcetypeassert // New makes nothing else
	defer bundles.Put(out)
	var text []byte
	now := time.Now()
	for i, t := range taps {
		if cap(text)-len(text) < usualResult {
			text = make([]byte, 0, min(slab, (len(taps)-i)*usualResult))
		}
		a, from := &t.Caller, len(text)
		text = a.result(text, t.Drop, t.Result())
		out.Add(a.member, text[from:len(text):len(text)])
		a.recordAnswer(t.Result().Outcome, now.Sub(a.began))
	}
	r.Lobby.Deliver(out)
}

// bundles carry the results of batches.
var bundles = sync.Pool{New: func() any { return &room.Bundle{} }}

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
