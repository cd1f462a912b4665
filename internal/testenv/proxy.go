package testenv

import (
	"net"
	"sync"
)

// Proxy is a TCP proxy, as a load balancer or a name in DNS that leads to another server after a failover.
type Proxy struct {
	Addr string

	listener net.Listener
	all      sync.WaitGroup
	mu       sync.Mutex
	target   string
	links    map[*link]bool
}

// link is one connection through a Proxy.
type link struct {
	client, server net.Conn

	mu     sync.Mutex
	frozen bool
}

// NewProxy starts a proxy to a server, until the test ends.
func NewProxy(t T, target string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", loopback+":0")
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, target: target, links: map[*link]bool{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.To("")
		p.Cut()
		p.all.Wait()
	})
	return p
}

// To leads new connections to another server. Open connections stay.
func (p *Proxy) To(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.each(func(l *link) { l.close() })
}

// Freeze passes on nothing more in the present connections, and leaves them open.
func (p *Proxy) Freeze() {
	p.each(func(l *link) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.frozen = true
	})
}

// Say sends text to all clients, as if the server had sent it.
func (p *Proxy) Say(text string) {
	p.each(func(l *link) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, _ = l.client.Write([]byte(text))
	})
}

func (p *Proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		do(l)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client}
	p.mu.Lock()
	server, err := net.Dial("tcp", p.target)
	if err == nil {
		l.server = server
		p.links[l] = true
	}
	p.mu.Unlock()
	if err != nil {
		_ = client.Close()
		return
	}
	p.all.Go(func() { l.pass(client, server) })
	l.pass(server, client)
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass passes on what comes from one side, until one of them closes.
func (l *link) pass(from, to net.Conn) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		if n > 0 && !l.frozen {
			_, err2 := to.Write(buf[:n])
			if err == nil {
				err = err2
			}
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
