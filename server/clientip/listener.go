package clientip

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pires/go-proxyproto"
)

// headerWithin is the limit of the wait for a proxy's header.
const headerWithin = 5 * time.Second

// Listener returns a listener that accepts a header of the PROXY protocol, version 1 or 2, from trusted proxies.
// RemoteAddr is then the client's. A trusted proxy that sends none is the client, as in its health checks. From any
// other address a header is invalid HTTP.
//
// https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
func (p Proxies) Listener(inner net.Listener) net.Listener { return &listener{inner, p} }

type listener struct {
	net.Listener

	proxies Proxies
}

// Accept does not wait for a header: the first RemoteAddr or Read of the connection does.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok || !l.proxies.Trusted(c.RemoteAddr()) {
		return c, nil
	}
	return &conn{TCPConn: tcp}, nil
}

// conn is a connection of a trusted proxy. It is a TCP connection otherwise, so that its descriptor can be used after a
// takeover. By then the bytes read together with the header are consumed, because net/http reads more than that at
// once.
type conn struct {
	*net.TCPConn

	once   sync.Once
	client net.Addr
	rest   []byte // received with the header
	err    error
}

// Peer returns the proxy's address, which is known at once.
func (c *conn) Peer() net.Addr { return c.TCPConn.RemoteAddr() }

// RemoteAddr returns the client's address. net/http asks for it first, on the goroutine that serves the connection.
func (c *conn) RemoteAddr() net.Addr {
	c.once.Do(c.readHeader)
	return c.client
}

// Read reads the bytes after the header.
func (c *conn) Read(p []byte) (int, error) {
	c.once.Do(c.readHeader)
	if c.err != nil {
		return 0, c.err
	}
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.TCPConn.Read(p)
}

func (c *conn) readHeader() {
	c.client = c.TCPConn.RemoteAddr()
	if c.err = c.SetReadDeadline(time.Now().Add(headerWithin)); c.err != nil {
		return
	}
	reader := bufio.NewReaderSize(c.TCPConn, 512) // net/http reads more than that at once
	header, err := proxyproto.Read(reader)
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol):
	case err != nil:
		c.err = fmt.Errorf("the PROXY header of %s: %w", c.client, err)
		return
	case !header.Command.IsLocal():
		if source, ok := header.SourceAddr.(*net.TCPAddr); ok {
			c.client = source
		}
	}
	c.rest, c.err = reader.Peek(reader.Buffered())
	if err := c.SetReadDeadline(time.Time{}); c.err == nil {
		c.err = err
	}
}
