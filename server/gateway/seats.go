package gateway

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
)

// seats counts the connections that a node accepts. A seat is taken before the upgrade, so that there are never more
// connections.
type seats struct {
	taken atomic.Int64
	all   int64
}

// take takes a seat if there is one.
func (s *seats) take() bool {
	if s.taken.Add(1) <= s.all {
		return true
	}
	s.taken.Add(-1)
	return false
}

func (s *seats) give() { s.taken.Add(-1) }

// nearlyFull reports whether at most a twentieth of the seats is left: those are for players who are connecting
// already.
func (s *seats) nearlyFull() bool { return s.taken.Load() >= s.all-s.all/20 }

// Full reports whether the node should get no new connections. It does so shortly before the node refuses them, so
// that a load balancer has the time to send players elsewhere.
func (g *Gateway) Full() bool { return g.seats.nearlyFull() }

// refuse refuses a connection without a seat, before the upgrade. A load balancer understands that and can try
// another node. A browser sees a lost connection and reconnects by itself. The waits are spread, so that not all come
// back at once.
func (g *Gateway) refuse(w http.ResponseWriter) {
	g.metrics.full.Inc()
	w.Header().Set("Retry-After", strconv.Itoa(2+rand.IntN(4))) //nolint:gosec // not a secret
	g.o.Problem(w, http.StatusServiceUnavailable, "full", "this node has no seat left: try again, or another node")
}
