package e2e

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// cable is what lies between players and a node: TCP connections that a test can cut. It keeps its address when cut.
type cable struct {
	url      string // where players find the node
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu   sync.Mutex
	cut  bool
	mute bool // what the node says is lost on the way
	ends map[net.Conn]struct{}
}

// lay lays a cable to a node, until the test ends.
func lay(t *testing.T, n *node) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{
		url: "http://" + listener.Addr().String(), target: strings.TrimPrefix(n.url, "http://"), listener: listener,
		ends: map[net.Conn]struct{}{},
	}
	c.work.Go(c.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		c.sever()
		c.work.Wait()
	})
	return c
}

func (c *cable) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		if err != nil || !c.connect(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		c.work.Go(func() { c.carry(near, far, func() bool { return true }) })
		c.work.Go(func() { c.carry(far, near, c.audible) })
	}
}

// connect notes a connection, unless the cable is cut.
func (c *cable) connect(ends ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return false
	}
	for _, e := range ends {
		c.ends[e] = struct{}{}
	}
	return true
}

// carry brings what comes from one end to the other, as far as it passes.
func (c *cable) carry(from, to net.Conn, passes func() bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ends, from)
	}()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && passes() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *cable) audible() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.mute
}

// silence loses all that the node says from now on, while it hears everything: what is decided now, the players do
// not know.
func (c *cable) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = true
}

// sever cuts the cable: all connections break, and new ones break at once.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for e := range c.ends {
		_ = e.Close()
	}
}

// mend makes new connections possible again.
func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.mute = false, false
}
