package room

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// crowdEnv makes the test binary a crowd instead: "<ws URL> <number>". A process of its own holds the players, because
// one process may not open enough files for both ends of ten thousand connections.
const crowdEnv = "REDRAIN_ROOM_CROWD"

// crowd connects, reports it on standard output, and reads everything until standard input ends.
func crowd(what string) {
	var url string
	var n int
	_, err := fmt.Sscan(what, &url, &n)
	conns := make([]net.Conn, 0, n)
	for err == nil && len(conns) < n {
		var ws *websocket.Conn
		if ws, _, err = (&websocket.Dialer{ReadBufferSize: 512, WriteBufferSize: 512}).Dial(url, nil); err == nil {
			conns = append(conns, ws.NetConn())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		return
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { _, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{c}, make([]byte, 1024)) })
	}
	fmt.Println("here")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		_ = c.Close()
	}
	wg.Wait()
}

// loopback seats n players, from a crowd, in a room of the lobby.
func loopback(tb testing.TB, l *Lobby, campaign string, n int) {
	tb.Helper()
	upgrader := websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{}}
	var readers sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(takeover{w}, r, nil)
		if err != nil {
			tb.Error(err)
			return
		}
		m := l.NewMember(socketOf(tb, conn), nil)
		l.Join(campaign, r.RemoteAddr, m)
		readers.Go(func() { readUntilGone(conn, m) })
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(tb, err)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()

	self, err := os.Executable()
	testenv.Must(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	players := exec.CommandContext(ctx, self)
	players.Env = append(os.Environ(), fmt.Sprintf("%s=ws://%s %d", crowdEnv, listener.Addr(), n))
	players.Stderr = os.Stderr
	stdin, errIn := players.StdinPipe()
	stdout, errOut := players.StdoutPipe()
	if err := players.Start(); errIn != nil || errOut != nil || err != nil {
		tb.Fatal(errIn, errOut, err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = players.Wait()
		cancel()
		_ = server.Close()
		<-served
		readers.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || l.Room(campaign).Online() != n {
		tb.Fatalf("the crowd said %q (%v)", line, err)
	}
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
