package grabtest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"redrain/internal/testenv"
)

// Cutter stands between a client and a server, and loses answers on demand.
type Cutter struct {
	listener net.Listener
	server   string
	mu       sync.Mutex
	losing   bool
	nLost    int
}

// NewCutter makes one before a server.
func NewCutter(t *testing.T, server string) *Cutter {
	t.Helper()
	l := testenv.Got(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	ctx := context.WithoutCancel(t.Context()) // connections end when the test closes them
	c := &Cutter{listener: l, server: server}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { c.serve(ctx, conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return c
}

// Addr is the address for clients.
func (c *Cutter) Addr() string { return c.listener.Addr().String() }

// LoseAnswer has the next answer lost.
func (c *Cutter) LoseAnswer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.losing = true
}

// Lost is the number of answers that were lost so far.
func (c *Cutter) Lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nLost
}

// loses reports whether the current answer is to be lost.
func (c *Cutter) loses() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.losing {
		return false
	}
	c.losing = false
	c.nLost++
	return true
}

func (c *Cutter) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", c.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil || c.loses() {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
