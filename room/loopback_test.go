package room

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// listen serves WebSockets whose members are given to seat, until the test ends. It returns the address to dial.
func listen(t *testing.T, l *Lobby, seat func(*Member), onClose func(int)) string {
	t.Helper()
	var readers sync.WaitGroup
	upgrader := websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(takeover{w}, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		socket := socketOf(t, conn)
		// so that a peer that does not read is soon felt
		if tcp, ok := socket.Conn.(*net.TCPConn); !ok || tcp.SetWriteBuffer(4096) != nil {
			t.Error("the write buffer cannot be made small")
		}
		m := newMember(l, socket, onClose)
		seat(m)
		readers.Go(func() { readUntilGone(conn, m) })
	}))
	t.Cleanup(func() { server.Close(); readers.Wait() })
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func dial(t *testing.T, url string) *peer {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial(url, nil)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{conn: conn, done: make(chan struct{})}
}

// The same as in memory, on real sockets. All healthy peers get all messages in order, although some peers do not read
// and some vanish. Those are closed.
func TestLoopback(t *testing.T) {
	l := runningWith(t, Options{WriteTimeout: 2 * time.Second})
	codes := make(chan int, 100)
	url := listen(t, l, func(m *Member) { l.Join("c", "u", m) }, func(code int) { codes <- code })
	const readers, stalled, vanishing, messages = 30, 3, 3, 200

	var healthy []*peer
	for range readers {
		healthy = append(healthy, dial(t, url).reads())
	}
	for range stalled {
		dial(t, url)
	}
	lost := make([]*peer, vanishing)
	for i := range lost {
		lost[i] = dial(t, url).reads()
	}
	testenv.Eventually(t, 10*time.Second, "not everybody has come",
		func() bool { return l.Members() == readers+stalled+vanishing })

	padding := bytes.Repeat([]byte("."), 16<<10)
	for n := range messages {
		l.Room("c").Broadcast(Results, append([]byte(strconv.Itoa(n)), padding...))
		if n == messages/2 {
			vanish(t, lost)
		}
	}
	for _, p := range healthy {
		testenv.Eventually(t, 30*time.Second, "a member that reads has not got everything",
			func() bool { return len(p.got()) == messages })
		for n, message := range p.got() {
			if message != strconv.Itoa(n)+string(padding) {
				t.Fatalf("message %d is %.20q…", n, message)
			}
		}
	}
	ended := map[int]int{}
	for range stalled + vanishing {
		ended[<-codes]++
	}
	if ended[CodeSlowConsumer] != stalled || ended[websocket.CloseAbnormalClosure] != vanishing {
		t.Errorf("closed with %v, want %d stalled and %d lost", ended, stalled, vanishing)
	}
	for m := range everybody(l.Room("c")) {
		m.CloseAfterFlush(CodeShutdown, "shutdown")
	}
	for _, p := range healthy {
		testenv.Equal(t, p.lastFrame(), lastFrame{CodeShutdown, "shutdown"}, "a peer received")
	}
	testenv.Eventually(t, 10*time.Second, "a connection is still open",
		func() bool { return value(t, l.metrics.connections) == 0 })
}

// vanish resets connections: no goodbye.
func vanish(t *testing.T, peers []*peer) {
	t.Helper()
	for _, p := range peers {
		if tcp, ok := p.conn.NetConn().(*net.TCPConn); !ok || tcp.SetLinger(0) != nil {
			t.Fatal("a connection cannot be reset")
		}
		_ = p.conn.Close()
	}
}

func everybody(r *Room) map[*Member]bool {
	members := map[*Member]bool{}
	for i := range r.segments {
		r.segments[i].mu.Lock()
		for _, m := range r.segments[i].members {
			members[m] = true
		}
		r.segments[i].mu.Unlock()
	}
	return members
}
