package room

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// pass lets time pass in the bubble, and all happen that is due by then.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func readUntilGone(conn *websocket.Conn, m *Member) {
	defer m.Gone()
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
		m.Pong()
	}
}

// pair is the two ends of a WebSocket in memory. It works inside a synctest bubble. A write of the server blocks until
// the client reads: a client that does not read is a stalled peer.
func pair(t *testing.T) (server, client *websocket.Conn) {
	t.Helper()
	near, far := net.Pipe()
	upgraded := make(chan error, 1)
	go func() {
		buffered := bufio.NewReadWriter(bufio.NewReader(near), bufio.NewWriter(near))
		r, err := http.ReadRequest(buffered.Reader)
		if err == nil {
			server, err = (&websocket.Upgrader{}).Upgrade(hijack{conn: NewSocket(near), buffered: buffered}, r, nil)
		}
		upgraded <- err
	}()
	//nolint:staticcheck // takes a connection, unlike its successor
	client, _, err := websocket.NewClient(far, &url.URL{Scheme: "ws", Host: "pair"}, nil, 0, 0)
	testenv.Must(t, errors.Join(err, <-upgraded))
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	return server, client
}

// hijack is the part of an HTTP server that Upgrade needs.
type hijack struct {
	http.ResponseWriter
	conn     net.Conn
	buffered *bufio.ReadWriter
}

func (h hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.buffered, nil }

// takeover makes an upgrade go through a Socket.
type takeover struct{ http.ResponseWriter }

func (w takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return NewSocket(conn), buffered, nil
}

func socketOf(tb testing.TB, conn *websocket.Conn) *Socket {
	tb.Helper()
	s, ok := conn.NetConn().(*Socket)
	if !ok {
		tb.Fatalf("the connection is a %T", conn.NetConn())
	}
	return s
}

// peer is the far end of a member's connection: it reads, answers pings and remembers.
type peer struct {
	conn *websocket.Conn
	done chan struct{} // closed when there is no more to read

	mu     sync.Mutex
	frames []string
	pings  []time.Time
	err    error
}

// Members returns the number of connections in all rooms.
func (l *Lobby) Members() (n int) {
	for _, r := range l.Rooms() {
		n += r.Members()
	}
	return n
}

// newMember is NewMember with a callback for the end.
func newMember(l *Lobby, s *Socket, onClose func(int)) *Member {
	m := l.newMember(s, onClose)
	s.member.Store(m)
	return m
}

// seatPeer makes a member with a peer that does not read yet.
func seatPeer(t *testing.T, l *Lobby, onClose func(int)) (*Member, *peer) {
	t.Helper()
	server, client := pair(t)
	m := newMember(l, socketOf(t, server), onClose)
	server.SetPongHandler(func(string) error { m.Pong(); return nil })
	go readUntilGone(server, m)
	return m, &peer{conn: client, done: make(chan struct{})}
}

// reads lets the peer read until the connection ends.
func (p *peer) reads() *peer {
	answer := p.conn.PingHandler()
	p.conn.SetPingHandler(func(data string) error {
		p.mu.Lock()
		p.pings = append(p.pings, time.Now())
		p.mu.Unlock()
		return answer(data)
	})
	go func() {
		defer close(p.done)
		for {
			_, data, err := p.conn.ReadMessage()
			p.mu.Lock()
			if err != nil {
				p.err = err
				p.mu.Unlock()
				return
			}
			p.frames = append(p.frames, string(data))
			p.mu.Unlock()
		}
	}()
	return p
}

// got are the messages read so far.
func (p *peer) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var messages []string
	for _, f := range p.frames {
		messages = append(messages, strings.Split(f, "\n")...)
	}
	return messages
}

// lastFrame is the content of a close frame.
type lastFrame struct {
	code   int
	reason string
}

// lastFrame waits for the end of the connection, and is its close frame.
func (p *peer) lastFrame() lastFrame {
	<-p.done
	if closed, ok := errors.AsType[*websocket.CloseError](p.err); ok {
		return lastFrame{closed.Code, closed.Text}
	}
	return lastFrame{0, p.err.Error()}
}

func TestMain(m *testing.M) { testenv.Main(m) }
