package admission

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/outcome"
	"redrain/grab/store"
)

// account holds the wins that the guests of one address may have in a campaign on this node. It is a grab.Quota.
type account struct {
	caps *Caps
	key  capKey
	most int // the limit of the address over all nodes

	opening sync.Mutex  // held during the first request to Redis
	isOpen  atomic.Bool // that has succeeded

	mu     sync.Mutex
	left   int  // leased to this node and not won
	flying int  // taps that may win
	won    int  // on this node
	total  int  // leased to all nodes, as far as this one knows
	missed int  // taps without a lease since the last request to Redis
	asking bool // more is to be requested from Redis
	used   bool // used since the last sweep
}

// reserve is the number of unused wins that a node tries to hold for an address.
const reserve = 4

// Take lets a tap go to the script if the node has an unused win for it.
func (a *account) Take() (why outcome.Outcome, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = true
	if a.left > a.flying {
		a.flying++
		if a.left-a.flying < reserve/2 && a.total < a.most {
			a.ask()
		}
		return 0, true
	}
	a.missed++
	if a.total >= a.most && a.flying == 0 {
		a.caps.metrics.wins.Inc()
		return outcome.Limited, false
	}
	if a.total < a.most {
		a.ask()
	}
	return outcome.Empty, false // a request for more is in flight, or taps in flight may lose
}

// ask makes Run request more. It needs a.mu.
func (a *account) ask() {
	if !a.asking {
		a.asking = true
		a.caps.hungry.Signal()
	}
}

// Settle counts the result of a tap.
func (a *account) Settle(taken, won bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if taken {
		a.flying--
	}
	if won {
		a.won++
		a.left-- // below zero for an uncounted win: the next report to Redis counts it
	}
}

// has returns the wins leased to this node, used or not, including uncounted ones. It needs a.mu.
func (a *account) has() int {
	a.left = max(0, a.left)
	return a.won + a.left
}

// wanted returns the request to Redis.
func (a *account) wanted() store.Allotment {
	a.mu.Lock()
	defer a.mu.Unlock()
	aim := max(reserve, (a.most-a.total)/8) + a.missed
	a.missed, a.asking = 0, false
	return store.Allotment{Address: a.key.address, Has: a.has(), Want: max(0, aim-max(0, a.left-a.flying))}
}

// word returns the periodic report to Redis. It returns unused wins if other nodes may need them, or if empty says that
// the address has no guests here.
func (a *account) word(empty bool) store.Allotment {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := store.Allotment{Address: a.key.address, Has: a.has()}
	if spare := a.left - a.flying; spare > 0 && (empty || !a.used && a.total >= a.most) {
		w.Want = -spare
		a.left -= spare
	}
	a.used = false
	return w
}

// got applies the answer of Redis.
func (a *account) got(w store.Allotment, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.total = w.Total
		a.left += max(0, w.Got)
	case w.Want < 0:
		a.left -= w.Want // if Redis has stored it all the same, the next report counts it again
	case w.Want > 0:
		a.asking = true
	}
}

func (a *account) isAsking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asking
}

// done reports whether the account may be dropped.
func (a *account) done() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.won == 0 && a.flying == 0 && a.left <= 0
}

// capsMetrics holds the counters of Caps.
type capsMetrics struct {
	wins, seats prometheus.Counter
	known       prometheus.Gauge
}

func newCapsMetrics(reg prometheus.Registerer) *capsMetrics {
	f := promauto.With(reg)
	refused := f.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_address_refusals_total",
		Help: "Refusals of guests because of the limit of their address: wins (taps), " +
			"seats (hellos and joins).",
	}, []string{"of"})
	return &capsMetrics{
		wins: refused.WithLabelValues("wins"), seats: refused.WithLabelValues("seats"),
		known: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_guest_addresses", Help: "Addresses of guests in each campaign that this node counts.",
		}),
	}
}
