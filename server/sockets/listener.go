package sockets

import (
	"container/list"
	"errors"
	"net"
	"os"
	"syscall"

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
			if outOfDescriptors(err) && l.table.spareOne() {
				continue
			}
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
	t.evict(victim)
}

// spareOne frees a descriptor if it can: that of the connection that has waited longest, or the spare one.
func (t *Table) spareOne() bool {
	t.mu.Lock()
	victim := oldest(t.waiting)
	t.mu.Unlock()
	if victim != nil {
		t.evict(victim)
		return true
	}
	return t.dropSpare()
}

func (t *Table) evict(c *conn) {
	if c == nil {
		return
	}
	t.metrics.cut[cutRoom].Inc()
	abort(c)
}

// oldest returns the first connection of a list; nil if it is empty.
func oldest(of *list.List) *conn {
	if of.Len() == 0 {
		return nil
	}
	return of.Front().Value.(*conn) //nolint:forcetypeassert // nothing else is in it
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// keepSpare opens the spare descriptor again if it was used.
func (t *Table) keepSpare() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spare == nil {
		if file, err := os.Open(os.DevNull); err == nil { // else the next round tries again
			t.spare = file
		}
	}
}

// dropSpare frees the spare descriptor. It reports whether there was one.
func (t *Table) dropSpare() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spare == nil {
		return false
	}
	_ = t.spare.Close() // nothing was written
	t.spare = nil
	return true
}
