package frames

import "net"

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

// Listener makes each connection that it accepts a *Conn.
type Listener struct{ net.Listener }

// Accept is net.Listener's.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: conn}, nil
}
