package room

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// crowdEnv makes the test binary a crowd instead: "<ws URL> <number> <how many of them do not read>". The players
// of a large benchmark live in a process of their own, because both ends of ten thousand connections are more files
// than one process may have open.
const crowdEnv = "REDRAIN_ROOM_CROWD"

// crowd connects, says so on standard output, and reads everything until standard input ends. Then it says how late
// it was.
func crowd(what string) {
	var url string
	var n, stalled int
	_, err := fmt.Sscan(what, &url, &n, &stalled)
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
	heard := &lateness{}
	for i, c := range conns {
		if i*stalled/n == (i+1)*stalled/n { // the stalled are spread evenly
			wg.Go(func() { _, _ = io.CopyBuffer(heard, struct{ io.Reader }{c}, make([]byte, 1024)) })
		}
	}
	fmt.Println("here")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		_ = c.Close()
	}
	wg.Wait()
	heard.report()
}

// stamp begins a message that tells when it was sent, in nanoseconds.
const (
	stamp       = "sent:"
	stampDigits = 19
)

// stamped is a wave that tells when it was sent.
func stamped() []byte {
	return append(strconv.AppendInt([]byte(stamp), time.Now().UnixNano(), 10), wave[len(stamp)+stampDigits:]...)
}

// lateness gathers how long after they were sent messages were read.
type lateness struct {
	mu   sync.Mutex
	took []time.Duration
}

// Write looks for stamps in what has been read, which is no more than a few frames.
func (l *lateness) Write(p []byte) (int, error) {
	now := time.Now().UnixNano()
	for rest := p; ; {
		_, after, found := bytes.Cut(rest, []byte(stamp))
		if !found || len(after) < stampDigits {
			return len(p), nil
		}
		sent, err := strconv.ParseInt(string(after[:stampDigits]), 10, 64)
		if err != nil {
			return 0, err
		}
		l.mu.Lock()
		l.took = append(l.took, time.Duration(now-sent))
		l.mu.Unlock()
		rest = after
	}
}

func (l *lateness) report() {
	if n := len(l.took); n > 0 {
		slices.Sort(l.took)
		fmt.Println(n, int64(l.took[n/2]), int64(l.took[n*99/100]), int64(l.took[n-1]))
	}
}

// loopback seats n players, from a crowd, in a room of the lobby.
func loopback(tb testing.TB, l *Lobby, campaign string, n int) {
	tb.Helper()
	seatCrowd(tb, l, campaign, n, 0)
}

// seatCrowd seats n players, of whom some do not read, in a room of the lobby. leave lets them go, and scans what
// they have to say of their lateness.
func seatCrowd(tb testing.TB, l *Lobby, campaign string, n, stalled int) (leave func(say ...any)) {
	tb.Helper()
	upgrader := websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: &sync.Pool{}}
	var readers sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(takeover{w}, r, nil)
		if err != nil {
			tb.Error(err)
			return
		}
		socket := socketOf(tb, conn)
		if tcp, ok := socket.Conn.(*net.TCPConn); stalled > 0 && (!ok || tcp.SetWriteBuffer(4096) != nil) {
			tb.Error("the write buffer cannot be made small") // so that a peer that does not read is soon felt
		}
		m := l.NewMember(socket, nil)
		l.Join(campaign, r.RemoteAddr, m)
		readers.Go(func() { readUntilGone(conn, m) })
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()

	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	players := exec.CommandContext(ctx, self)
	players.Env = append(os.Environ(), fmt.Sprintf("%s=ws://%s %d %d", crowdEnv, listener.Addr(), n, stalled))
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
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); err != nil || l.Room(campaign).Online() != n {
		tb.Fatalf("the crowd said %q (%v)", line, err)
	}
	return func(say ...any) {
		_ = stdin.Close()
		if _, err := fmt.Fscan(said, say...); err != nil {
			tb.Fatalf("the crowd has nothing to say: %v", err)
		}
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
