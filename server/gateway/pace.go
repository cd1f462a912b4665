package gateway

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// arrivalsPerProcessor is the number of arrivals a second that a processor handles beside a rain. One is an
	// upgrade, a token and a welcome, which asks Redis and perhaps the ledger.
	arrivalsPerProcessor = 1000
	// arrivalsBurst is the number of seconds' worth that may come at once.
	arrivalsBurst = 2
	// comeBackWithin is the longest wait of a connection that came too soon. If many have come, the waits are drawn
	// from its second half.
	comeBackWithin = 30 * time.Second
)

// pace limits the connections that a node accepts in a second. When another node has died, all its players come at
// once. The work for them must not slow down the players of this node.
type pace struct {
	arrivals *rate.Limiter
	back     *rate.Limiter // spreads the connections that came too soon: their next arrivals are reserved
}

// newPace accepts a number of arrivals in a second; 0 derives it from the processors, and below 0 there is no limit.
func newPace(perSecond int) *pace {
	if perSecond == 0 {
		perSecond = arrivalsPerProcessor * runtime.GOMAXPROCS(0)
	}
	limit := rate.Limit(perSecond)
	if perSecond < 0 {
		limit = rate.Inf
	}
	return &pace{arrivals: rate.NewLimiter(limit, perSecond*arrivalsBurst), back: rate.NewLimiter(limit, 1)}
}

// take reports whether one more may come now; if not, after which time. Each refused connection gets another time, so
// that they come back as fast as they are accepted, and not all at once.
func (p *pace) take(now time.Time) (after time.Duration, ok bool) {
	if p.arrivals.AllowN(now, 1) {
		return 0, true
	}
	next := p.back.ReserveN(now, 1)
	if after = time.Second + next.DelayFrom(now); after > comeBackWithin {
		next.CancelAt(now)
		after = comeBackWithin/2 + rand.N(comeBackWithin/2) //nolint:gosec // not a secret
	}
	return after, false
}

// tooSoon refuses a connection above the pace, before the upgrade.
func (g *Gateway) tooSoon(w http.ResponseWriter, after time.Duration) {
	g.metrics.tooSoon.Inc()
	w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	g.o.Problem(w, http.StatusServiceUnavailable, "too_many_arrivals",
		"more come than this node takes in a second: try again, or another node")
}

// connectionLimit limits the connections of a node. A connection is counted before the upgrade, so that there are never
// more.
type connectionLimit struct {
	taken atomic.Int64
	all   int64
}

// take counts one more connection, and reports whether it is within the limit.
func (s *connectionLimit) take() bool {
	if s.taken.Add(1) <= s.all {
		return true
	}
	s.taken.Add(-1)
	return false
}

func (s *connectionLimit) release() { s.taken.Add(-1) }

// Full reports whether the node should get no new connections. It does so from 95 % on, so that a load balancer has
// the time to send players elsewhere.
func (g *Gateway) Full() bool { return g.limit.taken.Load() >= g.limit.all-g.limit.all/20 }

// refuseFull refuses a connection above the limit, before the upgrade. A load balancer understands that and can try
// another node. A browser sees a lost connection and reconnects by itself. The waits are spread, so that not all come
// back at once.
func (g *Gateway) refuseFull(w http.ResponseWriter) {
	g.metrics.full.Inc()
	w.Header().Set("Retry-After", strconv.Itoa(2+rand.IntN(4))) //nolint:gosec // not a secret
	g.o.Problem(w, http.StatusServiceUnavailable, "full", "this node has no seat left: try again, or another node")
}
