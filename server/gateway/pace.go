package gateway

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// arrivalsPerProcessor is how many arrivals a second a processor takes beside a rain: an upgrade, a token and a
	// welcome, which asks Redis and perhaps the ledger.
	arrivalsPerProcessor = 1000
	// arrivalsBurst is how many seconds' worth may come at once.
	arrivalsBurst = 2
	// comeBackWithin is the longest time after which who came too soon is asked to come back. With more of them the
	// times are drawn from its second half.
	comeBackWithin = 30 * time.Second
)

// pace limits the connections that a node takes within a second. When another node has died, all its players come at
// once; the work for them must not be taken from those who play here.
type pace struct {
	arrivals *rate.Limiter // nil: no limit
	every    time.Duration // between two arrivals

	mu   sync.Mutex
	next time.Time // when the next one who came too soon is to come back
}

// newPace takes the arrivals of a second; 0 derives them from the processors, and below 0 there is no limit.
func newPace(perSecond int) *pace {
	if perSecond < 0 {
		return &pace{}
	}
	if perSecond == 0 {
		perSecond = arrivalsPerProcessor * runtime.GOMAXPROCS(0)
	}
	return &pace{
		arrivals: rate.NewLimiter(rate.Limit(perSecond), perSecond*arrivalsBurst),
		every:    time.Second / time.Duration(perSecond),
	}
}

// take tells whether one more may come now; if not, after which time. Each of those gets a time of their own, so that
// they come back as fast as they are taken, and not all at once.
func (p *pace) take(now time.Time) (after time.Duration, ok bool) {
	if p.arrivals == nil || p.arrivals.AllowN(now, 1) {
		return 0, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if soonest := now.Add(time.Second); p.next.Before(soonest) {
		p.next = soonest
	}
	if after = p.next.Sub(now); after > comeBackWithin {
		half := comeBackWithin / 2
		return half + rand.N(half), false //nolint:gosec // not a secret
	}
	p.next = p.next.Add(p.every)
	return after, false
}

// tooSoon answers who comes while too many do, before the upgrade.
func (g *Gateway) tooSoon(w http.ResponseWriter, after time.Duration) {
	g.metrics.tooSoon.Inc()
	w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	g.o.Problem(w, http.StatusServiceUnavailable, "too_many_arrivals",
		"more come than this node takes in a second: try again, or another node")
}
