package ws

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connection below the WebSocket library, whose plain frames ReadPlain reads. Read first returns the bytes
// that ReadPlain has received and not used.
type Conn struct {
	net.Conn

	rest []byte // received by ReadPlain, and not used
	// received counts the bytes that Read has returned; beyond most it returns ErrTooMuch. Only the reading goroutine
	// uses it.
	received, most int
	// until is the deadline for reading, in Unix nanoseconds; 0: none. Go enforces a deadline only while a
	// read waits. drain never waits, so it checks the deadline.
	until atomic.Int64

	mu      sync.Mutex
	reading bool // ReadPlain runs
	partial bool // a frame has begun, and the rest of it has until restWithin
	closing bool // Close has been called meanwhile; ReadPlain closes the connection when it returns
}

// ErrTooMuch is returned by Read beyond the limit of [Conn.Allow].
var ErrTooMuch = errors.New("ws: more bytes than a message may have")

// Allow lets Read return so many bytes more until it is called again; 0 means no limit. The library counts the bytes
// in frames, and not the frames: a message of empty fragments has no end for it. Only the reading goroutine calls it.
func (c *Conn) Allow(more int) {
	c.received, c.most = 0, more
}

// Received returns the number of bytes that Read has returned since Allow.
func (c *Conn) Received() int { return c.received }

// Read is net.Conn's.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.most > 0 {
		if c.received >= c.most {
			return 0, ErrTooMuch
		}
		p = p[:min(len(p), c.most-c.received)]
	}
	if len(c.rest) == 0 {
		n, err = c.Conn.Read(p)
	} else if n = copy(p, c.rest); n == len(c.rest) {
		c.rest = nil
	} else {
		c.rest = c.rest[n:]
	}
	c.received += n
	return n, err
}

// SetReadDeadline is net.Conn's. After Close it does nothing.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	return c.setReadDeadline(t)
}

// setReadDeadline needs c.mu.
func (c *Conn) setReadDeadline(t time.Time) error {
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

// restWithin is the time limit for the rest of a frame, from the moment in which only a part of it has come.
const restWithin = 10 * time.Second

// awaitRest limits the wait for the rest of a frame, or ends the limit. An earlier deadline takes precedence.
func (c *Conn) awaitRest(partial bool) error {
	if partial == c.partial { // only ReadPlain changes it
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = partial
	if c.closing || c.until.Load() != 0 {
		return nil
	}
	if !partial {
		return c.Conn.SetReadDeadline(time.Time{})
	}
	return c.Conn.SetReadDeadline(time.Now().Add(restWithin))
}

// overdue reports whether the deadline for reading has passed.
func (c *Conn) overdue() bool {
	until := c.until.Load()
	return until != 0 && time.Now().UnixNano() >= until
}

// Close closes the connection, and never waits for a handler, which may wait for a back end. While ReadPlain runs,
// Close makes it return soon, and ReadPlain closes the connection then: net.Conn's Close would wait for that.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reading {
		return c.Conn.Close()
	}
	c.closing = true
	return c.setReadDeadline(time.Unix(1, 0))
}

// begin records that ReadPlain runs.
func (c *Conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = true
}

// end records that ReadPlain returns, and closes the connection if Close has been called meanwhile.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading = false; c.closing {
		_ = c.Conn.Close() // the caller of Close has gone on
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
