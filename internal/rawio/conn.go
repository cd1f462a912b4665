package rawio

import "net"

// Conn is a TCP connection whose writes go without the runtime's preparations as long as the system takes them at
// once. What a program sends to its back ends in a storm is large enough for the runtime's monitor to find its
// goroutine in the system call.
type Conn struct {
	*net.TCPConn

	raw *Writer
}

// Wrap returns a connection as a Conn where that is of use, else as it is. It is closed through what is returned.
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

// Write writes all of p, and waits for the peer where it has to.
func (c *Conn) Write(p []byte) (int, error) {
	n, _ := c.raw.TryWrite(p) // an error comes again
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
