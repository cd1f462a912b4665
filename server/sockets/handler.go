package sockets

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"redrain/server/clientip"
	"redrain/server/timeout"
)

type contextKey struct{}

// Context passes the connection of a request to Handler. It is an http.Server.ConnContext.
func (t *Table) Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, ownOf(c))
}

// monitoring lists the paths that are answered in any case.
var monitoring = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// Handler guards each request. It comes after clientip's handler, so that RemoteAddr is the client's.
func (t *Table) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.guardBody(w, r)
		guardAnswer(w, r)
		c, _ := r.Context().Value(contextKey{}).(*conn)
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		if t.isNarrow(c) {
			w.Header().Set("Connection", "close") // the next one may need it more
			if !monitoring[r.URL.Path] {
				t.metrics.refused.WithLabelValues(refusedFull).Inc()
				t.refuse(w, "full", "this node has no descriptor left: try again, or another node")
				return
			}
		}
		place, ok := t.placeOf(c, r)
		if !ok {
			t.refuse(w, "too_many_connections", "too many connections from this address: try again in a moment")
			return
		}
		if place != "" {
			defer t.endRequest(c, place)
		}
		next.ServeHTTP(w, r)
	})
}

// guardAnswer replaces the deadline of an earlier request on the connection by the limit of each part. HTTP/2 has its
// own flow control: a stream's reader may stall while the connection goes on. So its answers get one limit in all.
func guardAnswer(w http.ResponseWriter, r *http.Request) {
	until := time.Time{}
	if r.ProtoMajor > 1 {
		until = time.Now().Add(timeout.Page)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(until) // not every connection has deadlines: those of tests
}

func (t *Table) isNarrow(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.narrows != nil
}

// placeOf takes a slot for a request that a proxy has forwarded. It returns "" if the connection has a slot, or if the
// proxy is the client. It returns false if the client's address has no slot left.
func (t *Table) placeOf(c *conn, r *http.Request) (place string, ok bool) {
	if !c.proxy || t.counted(c) {
		return "", true
	}
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || t.o.Trusted(net.TCPAddrFromAddrPort(client)) {
		return "", true
	}
	place = clientip.AddrKey(client.Addr())
	return place, t.takeRequest(place)
}

// counted reports whether a connection counts for an address.
func (t *Table) counted(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.place != ""
}

func (t *Table) refuse(w http.ResponseWriter, code, detail string) {
	const retryAfterSeconds = 5
	w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
	t.o.Problem(w, http.StatusServiceUnavailable, code, detail)
}
