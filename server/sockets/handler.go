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

// Context lets Handler know the connection of a request: see http.Server.ConnContext.
func (t *Table) Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, ownOf(c))
}

// monitoring is what is answered however busy the process is.
var monitoring = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// Handler guards each request. It lies below what finds out who is calling, so that RemoteAddr is the client's.
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
				t.metrics.refused[refusedFull].Inc()
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

// guardAnswer begins with no other deadline than progress: what an earlier request of the connection has set is gone.
// HTTP/2 has its own flow control, so there a write may wait for a reader whose connection goes on.
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

// placeOf takes a place for a request that a proxy has passed on; "" where the connection has one, or where the proxy
// speaks for itself. It reports false where the client's address has none left.
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

// counted tells whether a connection counts for an address.
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
