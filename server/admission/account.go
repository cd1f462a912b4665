package admission

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/outcome"
	"redrain/grab/store"
)

// account is what the guests of one address may win of a campaign on this node. It is a grab.Quota.
type account struct {
	caps *Caps
	key  capKey
	most int // that all nodes may let the address win

	ready chan struct{} // closed when Redis was asked first
	err   error         // why it could not be; read after ready

	mu     sync.Mutex
	left   int  // of what this node has: not won
	flying int  // taps that may win
	won    int  // on this node
	total  int  // what all nodes have, as far as this one has heard
	missed int  // taps that found nothing left since Redis was asked
	asking bool // Redis is to be asked for more
	used   bool // since the last sweep
}

// reserve is how many wins a node has in hand for an address, at least, where it can.
const reserve = 4

// Take lets a tap go to the script, if there is a win in hand for it.
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
	return outcome.Empty, false // Redis is being asked for more, or what is in the air may lose
}

// ask has Run get more. It needs a.mu.
func (a *account) ask() {
	if !a.asking {
		a.asking = true
		a.caps.hungry.Signal()
	}
}

// Settle counts what has come of a tap.
func (a *account) Settle(taken, won bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if taken {
		a.flying--
	}
	if won {
		a.won++
		a.left-- // below zero for a win that was counted nowhere: the next word to Redis counts it
	}
}

// has is what this node has, used or not. Wins that were counted nowhere are, with that. It needs a.mu.
func (a *account) has() int {
	a.left = max(0, a.left)
	return a.won + a.left
}

// wanted is what Redis is asked for now.
func (a *account) wanted() store.Allotment {
	a.mu.Lock()
	defer a.mu.Unlock()
	aim := max(reserve, (a.most-a.total)/8) + a.missed
	a.missed, a.asking = 0, false
	return store.Allotment{Address: a.key.address, Has: a.has(), Want: max(0, aim-max(0, a.left-a.flying))}
}

// word is what Redis is told now and then. What was not used since the last time is given back, where others may need
// it or nobody is here.
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

// got takes in the answer of Redis to what it was told.
func (a *account) got(w store.Allotment, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.total = w.Total
		a.left += max(0, w.Got)
	case w.Want < 0:
		a.left -= w.Want // where Redis has taken it all the same, the next word counts it again
	}
}

// done tells whether nothing is lost with the account.
func (a *account) done() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.won == 0 && a.flying == 0 && a.left <= 0
}

// capsMetrics is what Caps count.
type capsMetrics struct {
	wins, seats prometheus.Counter
	known       prometheus.Gauge
}

func newCapsMetrics(reg prometheus.Registerer) *capsMetrics {
	f := promauto.With(reg)
	refused := f.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_address_refusals_total",
		Help: "What guests were refused because their address has as much as it may: wins (taps), " +
			"seats (hellos and joins).",
	}, []string{"of"})
	return &capsMetrics{
		wins: refused.WithLabelValues("wins"), seats: refused.WithLabelValues("seats"),
		known: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_guest_addresses", Help: "Addresses of guests in each campaign that this node counts.",
		}),
	}
}
