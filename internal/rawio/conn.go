package rawio

import "net"

// Conn is a TCP connection whose writes skip the runtime's preparations while the system takes them at once. In a
// storm the messages to back ends are large enough for the runtime's monitor to find their goroutine in the system
// call.
type Conn struct {
	*net.TCPConn

	raw *Writer
}

// Wrap returns a connection as a Conn if the system supports it, else unchanged. Close the returned connection.
func Wrap(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := NewWriter(tcp)
	if err != nil {
		return c
	}
	return &Conn{tcp, raw}
}

// Write writes all of p, and waits for the peer if necessary.
func (c *Conn) Write(p []byte) (int, error) {
	n, _ := c.raw.TryWrite(p) // the next write returns the error again
	if n == len(p) {
		return n, nil
	}
	rest, err := c.TCPConn.Write(p[n:])
	return n + rest, err
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.raw.Close()
	return c.TCPConn.Close()
}
