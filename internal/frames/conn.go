package frames

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connection whose frames can be read by Plain. What Plain has read and not used, Read returns first.
type Conn struct {
	net.Conn

	rest []byte
	// the deadline of reading, Unix nanoseconds; 0: none. Plain looks at it: the system does so only where one
	// waits
	until atomic.Int64

	mu      sync.Mutex
	reading bool // Plain is
	closing bool // and closes the connection when it has ended
}

// Read is net.Conn's.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return n, nil
}

// SetReadDeadline is net.Conn's.
func (c *Conn) SetReadDeadline(t time.Time) error {
	until := int64(0)
	if !t.IsZero() {
		until = t.UnixNano()
	}
	c.until.Store(until)
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// overdue tells whether reading has to end.
func (c *Conn) overdue() bool {
	until := c.until.Load()
	return until != 0 && time.Now().UnixNano() >= until
}

// Close closes the connection. It never waits for a handler, which may be waiting for a back end: where Plain is at
// work, it is told to end, and the connection is closed when it has. net.Conn's would return no earlier than Plain.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reading {
		return c.Conn.Close()
	}
	c.closing = true
	return c.SetReadDeadline(time.Unix(1, 0))
}

// begin and end are the beginning and the end of Plain's reading.
func (c *Conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = true
}

func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading = false; c.closing {
		_ = c.Conn.Close() // who wanted that has gone on
	}
}

// SyscallConn makes a Conn a syscall.Conn, as the connection in it is one.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return socket.SyscallConn()
}
