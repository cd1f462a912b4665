package sockets

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"redrain/server/clientip"
	"redrain/server/timeout"
)

// writePart is the part of an answer that a client has to read within timeout.Stall, in bytes.
const writePart = 32 << 10

// conn is a connection in the table.
type conn struct {
	net.Conn

	table    *Table
	once     sync.Once
	hijacked atomic.Bool  // a WebSocket, whose owner sets the deadlines
	until    atomic.Int64 // the end of any write, in Unix nanoseconds; 0: no end
	proxy    bool         // it is a trusted proxy's; immutable
	known    bool         // the address was known at Accept

	// Guarded by table.mu.
	kind    kind
	since   time.Time // when it became of that kind
	waits   *list.Element
	narrows *list.Element // nil: it is within the budget
	place   string        // the address that it counts for; "": none
	closed  bool
}

// ownOf returns the table's connection below one of net/http; nil if the table has none.
func ownOf(c net.Conn) *conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	own, _ := c.(*conn)
	return own
}

// RemoteAddr returns the client's address. It waits for a PROXY header: net/http asks for it first, on the goroutine
// that serves the connection. If the address has too many connections, RemoteAddr closes this one.
func (c *conn) RemoteAddr() net.Addr {
	remote := c.Conn.RemoteAddr()
	c.once.Do(func() {
		if !c.known && !c.table.o.Trusted(remote) && !c.table.takeFor(c, clientip.Key(remote.String())) {
			abort(c)
		}
	})
	return remote
}

// SetLinger sets the linger time if the connection is TCP.
func (c *conn) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		return tcp.SetLinger(seconds)
	}
	return errors.ErrUnsupported
}

// Close closes the connection and removes it from the table.
func (c *conn) Close() error {
	c.table.leave(c)
	return c.Conn.Close()
}

// CloseWrite lets the peer see the end of an answer before the connection is closed.
func (c *conn) CloseWrite() error {
	if tcp, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return tcp.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn makes a conn a syscall.Conn if its inner connection is one.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// SetWriteDeadline implements net.Conn. An answer without progress ends earlier.
func (c *conn) SetWriteDeadline(t time.Time) error {
	until := int64(0)
	if !t.IsZero() {
		until = t.UnixNano()
	}
	c.until.Store(until)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Write writes an answer in parts. It fails if the client does not read one of them in time.
func (c *conn) Write(p []byte) (n int, err error) {
	if c.hijacked.Load() {
		return c.Conn.Write(p)
	}
	for {
		part := p[n:min(len(p), n+writePart)]
		if err := c.Conn.SetWriteDeadline(c.partUntil(time.Now())); err != nil {
			return n, err
		}
		wrote, err := c.Conn.Write(part)
		n += wrote
		if err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				c.table.metrics.cut.WithLabelValues(cutReader).Inc()
			}
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
	}
}

// partUntil returns the deadline of the next part of an answer.
func (c *conn) partUntil(now time.Time) time.Time {
	stalled := now.Add(timeout.Stall)
	if until := c.until.Load(); until != 0 && until < stalled.UnixNano() {
		return time.Unix(0, until)
	}
	return stalled
}
