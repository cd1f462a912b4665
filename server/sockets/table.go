package sockets

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
)

// Problem answers a request that is not served. [api.WriteProblem] implements it.
type Problem func(w http.ResponseWriter, status int, code, detail string)

// Options of a Table. All are required unless stated otherwise.
type Options struct {
	PerAddress int                 // connections of one address; 0: no limit
	Budget     int                 // connections in all; 0: no limit
	Trusted    func(net.Addr) bool // reports a proxy, which forwards many clients
	Problem    Problem
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Registerer prometheus.Registerer
}

const (
	// idleWithin is the limit of a wait between two requests, and before the first one. A proxy's connection may wait
	// for as long as the server allows, because the proxy keeps it for the next client.
	idleWithin = 20 * time.Second
	// sweepEvery is the interval at which the table checks that limit.
	sweepEvery = time.Second
	// narrowMost is the number of connections beyond the budget that are served, for monitoring only.
	narrowMost = 16
)

// Table holds all connections of a server. Its Run must be started. Its methods are safe for concurrent use.
type Table struct {
	o       Options
	metrics *metrics

	mu      sync.Mutex
	open    int
	waiting *list.List // of *conn: between two requests, within the budget, the longest wait first
	narrow  *list.List // of *conn: beyond the budget, the oldest first
	places  map[string]int
}

// New returns a table without connections.
func New(o Options) *Table {
	if o.Budget > 0 && (o.PerAddress == 0 || o.PerAddress > o.Budget/2) {
		o.PerAddress = max(1, o.Budget/2) // one address never gets all
	}
	return &Table{
		o: o, metrics: newMetrics(o.Registerer), waiting: list.New(), narrow: list.New(), places: map[string]int{},
	}
}

// State receives a connection's states from net/http. It is an http.Server.ConnState.
func (t *Table) State(c net.Conn, state http.ConnState) {
	own := ownOf(c)
	if own == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.closed {
		return
	}
	switch state {
	case http.StateNew:
		t.move(own, kindNew)
	case http.StateActive:
		t.move(own, kindRequest)
	case http.StateIdle:
		t.move(own, kindIdle)
	case http.StateHijacked:
		own.hijacked.Store(true)
		t.move(own, kindWebSocket)
	case http.StateClosed: // Close has removed it
	}
}

// move changes a connection's kind. It needs t.mu.
func (t *Table) move(c *conn, to kind) {
	if c.kind != kindNone {
		t.metrics.open.WithLabelValues(string(c.kind)).Dec()
	}
	if c.waits != nil {
		t.waiting.Remove(c.waits)
		c.waits = nil
	}
	c.kind, c.since = to, time.Now()
	if to == kindNone {
		return
	}
	t.metrics.open.WithLabelValues(string(to)).Inc()
	if c.narrows == nil && (to == kindNew || to == kindIdle) {
		c.waits = t.waiting.PushBack(c)
	}
}

// enter adds a connection, with the kind new.
func (t *Table) enter(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
	t.move(c, kindNew)
}

// leave removes a connection, once.
func (t *Table) leave(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	t.open--
	t.move(c, kindNone)
	if c.narrows != nil {
		t.narrow.Remove(c.narrows)
		c.narrows = nil
	}
	t.give(c.place)
	c.place = ""
}

// Run closes connections that have waited for too long, until ctx ends. It returns nil.
func (t *Table) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "sockets", Every: sweepEvery, Do: loop.Plain(t.sweep),
		Recoverer: t.o.Recoverer})
}

func (t *Table) sweep(context.Context) {
	for _, c := range t.tooLong(time.Now()) {
		t.metrics.cut.WithLabelValues(cutIdle).Inc()
		_ = c.Close() // its server notices
	}
}

// tooLong returns the connections that have waited for too long.
func (t *Table) tooLong(now time.Time) (late []*conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := t.waiting.Front(); e != nil; e = e.Next() {
		c := e.Value.(*conn) //nolint:forcetypeassert // nothing else is in it
		if now.Sub(c.since) < idleWithin {
			break
		}
		if !c.proxy {
			late = append(late, c)
		}
	}
	return late
}

// take takes a slot of an address, if there is one. It needs t.mu.
func (t *Table) take(place string) bool {
	if t.o.PerAddress > 0 && t.places[place] >= t.o.PerAddress {
		t.metrics.refused.WithLabelValues(refusedAddress).Inc()
		return false
	}
	t.places[place]++
	return true
}

// give frees a slot; "" does nothing. It needs t.mu.
func (t *Table) give(place string) {
	if place == "" {
		return
	}
	if t.places[place]--; t.places[place] <= 0 {
		delete(t.places, place)
	}
}

// takeFor takes a slot for a connection until it is closed.
func (t *Table) takeFor(c *conn, place string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.closed || !t.take(place) {
		return false
	}
	c.place = place
	return true
}

// takeRequest takes a slot for one request.
func (t *Table) takeRequest(place string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(place)
}

// endRequest frees the slot of a request. If the request has become a WebSocket, its connection keeps the slot.
func (t *Table) endRequest(c *conn, place string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.hijacked.Load() && !c.closed {
		c.place = place
		return
	}
	t.give(place)
}
