package gateway

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
)

// seats are the connections that a node takes. One is taken before the upgrade, so that there are never more.
type seats struct {
	taken atomic.Int64
	all   int64
}

// take takes a seat, if there is one.
func (s *seats) take() bool {
	if s.taken.Add(1) <= s.all {
		return true
	}
	s.taken.Add(-1)
	return false
}

func (s *seats) give() { s.taken.Add(-1) }

// nearlyFull tells whether a twentieth of the seats is left or less: those are for who is on the way already.
func (s *seats) nearlyFull() bool { return s.taken.Load() >= s.all-s.all/20 }

// Full tells whether the node should get no new connections. It says so a little before it begins to refuse them,
// so that a load balancer has the time to send players elsewhere.
func (g *Gateway) Full() bool { return g.seats.nearlyFull() }

// refuse answers who cannot be seated, before the upgrade: a load balancer understands that and can try another node,
// and a browser sees a lost line and comes back by itself. The times are spread, so that not all come back at once.
func (g *Gateway) refuse(w http.ResponseWriter) {
	g.metrics.full.Inc()
	w.Header().Set("Retry-After", strconv.Itoa(2+rand.IntN(4))) //nolint:gosec // not a secret
	g.o.Problem(w, http.StatusServiceUnavailable, "full", "this node has no seat left: try again, or another node")
}
