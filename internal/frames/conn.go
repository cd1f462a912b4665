package frames

import (
	"errors"
	"net"
	"syscall"
)

// Conn is a connection whose frames can be read by Plain. What Plain has read and not used, Read returns first.
type Conn struct {
	net.Conn

	rest []byte
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

// SyscallConn makes a Conn a syscall.Conn, as the connection in it is one.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return socket.SyscallConn()
}
