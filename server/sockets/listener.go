package sockets

import (
	"container/list"
	"net"

	"redrain/server/clientip"
)

// Listener returns a listener that adds its connections to the table. It belongs between clientip's listener and TLS.
func (t *Table) Listener(inner net.Listener) net.Listener { return &listener{inner, t} }

type listener struct {
	net.Listener

	table *Table
}

// announced is a connection whose real address comes in a PROXY header, for which RemoteAddr waits.
type announced interface {
	Peer() net.Addr // of the proxy
}

// Accept returns the next connection that may be served. If its address has too many already, it is closed at once,
// which costs less than an answer.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, table: l.table}
		if !l.table.identify(c) {
			abort(inner)
			continue
		}
		l.table.makeRoom(c)
		l.table.enter(c)
		return c, nil
	}
}

// identify takes a slot for a connection whose address is known at once. It returns false if none is left.
func (t *Table) identify(c *conn) bool {
	if _, ok := c.Conn.(announced); ok {
		c.proxy = true // RemoteAddr will return its client
		return true
	}
	c.known = true
	remote := c.Conn.RemoteAddr()
	if t.o.Trusted(remote) {
		c.proxy = true // and each of its requests names its client
		return true
	}
	return t.takeFor(c, clientip.Key(remote.String()))
}

// abort closes a connection and discards unsent data.
func abort(c net.Conn) {
	if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // it is closed in any case
	}
	_ = c.Close()
}

// makeRoom keeps the connections within the budget: it closes the connection that has waited longest without a request.
// If every connection is busy, the new one is narrow: only monitoring is served on it.
func (t *Table) makeRoom(c *conn) {
	t.mu.Lock()
	if t.o.Budget == 0 || t.open < t.o.Budget {
		t.mu.Unlock()
		return
	}
	victim := oldest(t.waiting)
	if victim == nil {
		c.narrows = t.narrow.PushBack(c)
		if t.narrow.Len() > narrowMost {
			victim = oldest(t.narrow)
		}
	}
	t.mu.Unlock()
	if victim != nil {
		t.metrics.cut.WithLabelValues(cutRoom).Inc()
		abort(victim)
	}
}

// oldest returns the first connection of a list; nil if it is empty.
func oldest(of *list.List) *conn {
	if of.Len() == 0 {
		return nil
	}
	return of.Front().Value.(*conn) //nolint:forcetypeassert // nothing else is in it
}

// BudgetOf returns the number of connections within a limit of descriptors, beside files, back ends and a reserve for
// monitoring. It returns 0 if there is no limit.
func BudgetOf(descriptors int) int {
	if descriptors == 0 {
		return 0
	}
	others := max(128, descriptors/16)
	return max(narrowMost, descriptors-others-narrowMost)
}
