package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// pipes is a network of pipes. Those that are lost pass on nothing more, and stay open.
type pipes struct {
	accepted chan net.Conn
	closing  sync.Once
	made     []*pipe
}

type pipe struct {
	net.Conn

	lost atomic.Bool
}

func (p *pipe) Write(data []byte) (int, error) {
	if p.lost.Load() {
		return len(data), nil
	}
	return p.Conn.Write(data)
}

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	client := &pipe{Conn: near}
	p.made = append(p.made, client)
	p.accepted <- far
	return client, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	conn, open := <-p.accepted
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p *pipes) Close() error {
	p.closing.Do(func() { close(p.accepted) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestALostConnectionOverHTTP2IsReplaced: by those of the clients of providers, risk systems and key sets, which are
// copies of the standard library's.
func TestALostConnectionOverHTTP2IsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{accepted: make(chan net.Conn, 1)}
		var plain http.Protocols
		plain.SetUnencryptedHTTP2(true)
		ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		server := &http.Server{Protocols: &plain, Handler: ok}
		go func() { _ = server.Serve(network) }()
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext, transport.Protocols = network.DialContext, &plain
		client := http.Client{Transport: transport, Timeout: 5 * time.Second}
		ask := func() error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pay.example/", nil)
			testenv.Must(t, err)
			resp, err := client.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			return err
		}
		testenv.Must(t, ask())
		network.made[0].lost.Store(true)
		began := time.Now()
		for ask() != nil && time.Since(began) < time.Hour {
			time.Sleep(time.Second) //nolint:forbidigo // fake time
		}
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("requests fail for %v", took)
		}
		testenv.Must(t, server.Close())
		transport.CloseIdleConnections()
	})
}
