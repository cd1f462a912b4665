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

// headerWithin is how long a proxy may take to say on whose behalf it calls.
const headerWithin = 5 * time.Second

// Listener makes a listener whose connections from trusted proxies may begin with a header of the PROXY protocol,
// version 1 or 2: RemoteAddr is then the client's. A trusted proxy that sends none speaks for itself, as its health
// checks do. From everybody else a header is what it looks like: no HTTP.
//
// https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
func (p Proxies) Listener(inner net.Listener) net.Listener { return &listener{inner, p} }

type listener struct {
	net.Listener

	proxies Proxies
}

// Accept does not wait for a header: whoever serves the connection does, at its first RemoteAddr or Read.
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

// conn is a connection of a trusted proxy. It is a TCP connection in all else, so that who takes it over can use its
// descriptor: what was read together with the header is gone by then, as net/http reads more than that at once.
type conn struct {
	*net.TCPConn

	once   sync.Once
	client net.Addr
	rest   []byte // received with the header
	err    error
}

// Peer is the proxy's address, which is known at once.
func (c *conn) Peer() net.Addr { return c.TCPConn.RemoteAddr() }

// RemoteAddr is the client's address. net/http asks for it first, on the goroutine that serves the connection.
func (c *conn) RemoteAddr() net.Addr {
	c.once.Do(c.readHeader)
	return c.client
}

// Read reads what comes after the header.
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
	reader := bufio.NewReaderSize(c.TCPConn, 512) // what net/http reads at once is more
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
