package ws

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/ws/wstest"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

const limit = wstest.Limit

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard records the messages of a connection, in order, and its end.
type heard struct {
	conn   *websocket.Conn
	below  *Conn
	mu     sync.Mutex
	got    []string
	last   chan struct{} // closed when the message "last" has come
	ended  chan error
	onText func()
	onPing func()
}

func (h *heard) add(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, what)
	if what == "text last" {
		close(h.last)
	}
}

// Text answers each message, as a server does: Plain relies on it.
func (h *heard) Text(m []byte) {
	h.add("text " + string(m))
	_ = h.conn.WriteMessage(websocket.TextMessage, []byte("answer"))
	if h.onText != nil {
		h.onText()
	}
}

func (h *heard) Ping(m []byte) {
	h.add("ping " + string(m))
	if h.onPing != nil {
		h.onPing()
	}
}

func (h *heard) Pong(m []byte) { h.add("pong " + string(m)) }

// read reads a connection to its end: first the plain frames, then the library's rest.
func (h *heard) read() {
	err := h.below.ReadPlain(limit, h)
	for err == nil {
		var m []byte
		if _, m, err = h.conn.ReadMessage(); err == nil {
			h.add("text " + string(m))
		}
	}
	_ = h.conn.Close()
	h.ended <- err
}

// connect makes a WebSocket; the client's side is left raw.
func connect(t interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}, h *heard) net.Conn {
	t.Helper()
	h.ended, h.last = make(chan error, 1), make(chan struct{})
	l := testenv.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	upgrader := websocket.Upgrader{ReadBufferSize: 256}
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := upgrader.Upgrade(&takeover{w, h}, r, nil)
			if err != nil {
				h.ended <- err
				return
			}
			conn.SetReadLimit(limit)
			conn.SetPingHandler(func(m string) error { h.Ping([]byte(m)); return nil })
			conn.SetPongHandler(func(m string) error { h.Pong([]byte(m)); return nil })
			h.conn = conn
			go h.read()
		})}
	go func() { _ = server.Serve(l) }()
	client, _, err := websocket.DefaultDialer.Dial("ws://"+l.Addr().String(), nil)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client.NetConn()
}

// takeover puts a Conn below the library.
type takeover struct {
	http.ResponseWriter

	h *heard
}

func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	t.h.below = &Conn{Conn: conn}
	return t.h.below, buffered, err
}

// All messages arrive once and in order, as with the library alone. The frames may be of any kind, and cut anywhere.
func TestEverythingArrivesOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var stream []byte
		var want []string
		for range rapid.IntRange(0, 30).Draw(rt, "frames") {
			key := rapid.Uint32().Draw(rt, "key")
			long := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 7, 8, 40, 125, 126, 127, 900, maxPlain,
				maxPlain + 1, limit}).Draw(rt,
				"size"))
			short := long[:min(len(long), 125)]
			switch rapid.SampledFrom([]string{"text", "text", "text", "text", "ping", "pong", "fragments"}).Draw(rt,
				"kind") {
			case "text":
				stream, want = append(stream, wstest.Frame(0x81, long, key)...), append(want, "text "+long)
			case "ping":
				stream, want = append(stream, wstest.Frame(0x89, short, key)...), append(want, "ping "+short)
			case "pong":
				stream, want = append(stream, wstest.Frame(0x8A, short, key)...), append(want, "pong "+short)
			case "fragments":
				stream = append(append(stream, wstest.Frame(0x01, short, key)...), wstest.Frame(0x80, "end", key)...)
				want = append(want, "text "+short+"end")
			}
		}
		stream, want = append(stream, wstest.Frame(0x81, "last", 5)...), append(want, "text last")
		h := &heard{}
		conn := connect(rt, h)
		answers := make(chan struct{})
		go func() { defer close(answers); _, _ = io.Copy(io.Discard, conn) }()
		for len(stream) > 0 {
			n := rapid.IntRange(1, min(len(stream), 20_000)).Draw(rt, "cut")
			testenv.Must(rt, testenv.Err(conn.Write(stream[:n])))
			stream = stream[n:]
		}
		<-h.last
		_ = conn.Close()
		<-answers
		if err := <-h.ended; err == nil {
			rt.Fatal("no end")
		}
		if !slices.Equal(h.got, want) {
			rt.Fatalf("got  %.60q\nwant %.60q", h.got, want)
		}
	})
}

// A connection that is silent holds no buffer, sleeps, and wakes for the next message; and for its end.
func TestItWakesForWhatComes(t *testing.T) {
	for name, end := range map[string]func(server *websocket.Conn, client net.Conn){
		"the peer closes": func(_ *websocket.Conn, client net.Conn) { _ = client.Close() },
		"closed here":     func(server *websocket.Conn, _ net.Conn) { _ = server.Close() },
		"deadline":        func(server *websocket.Conn, _ net.Conn) { _ = server.SetReadDeadline(time.Now()) },
		"reset": func(_ *websocket.Conn, client net.Conn) {
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = client.Close()
		},
		"pong, then closed": func(_ *websocket.Conn, client net.Conn) {
			_, _ = client.Write(wstest.Frame(0x8A, "", 1))
			_ = client.Close()
		},
		"half, then closed": func(_ *websocket.Conn, client net.Conn) {
			_, _ = client.Write([]byte{0x81})
			_ = client.Close()
		},
		"no more to be said": func(_ *websocket.Conn, client net.Conn) { _ = client.(*net.TCPConn).CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan struct{})
			h := &heard{onText: func() { told <- struct{}{} }}
			conn := connect(t, h)
			for range 100 {
				testenv.Must(t, testenv.Err(conn.Write(wstest.Frame(0x81, "tap", 3))))
				<-told
			}
			end(h.conn, conn)
			testenv.WantFail(t, <-h.ended, "reading")
		})
	}
}

// A peer that sends faster than the server reads cannot keep the connection open.
func TestAFloodDoesNotOutliveTheConnection(t *testing.T) {
	for name, end := range map[string]func(c *Conn) error{
		"deadline": func(c *Conn) error { return c.SetReadDeadline(time.Unix(1, 0)) },
		"closed":   func(c *Conn) error { return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 10_000
			client, pings := make(chan net.Conn, 1), 0
			h := &heard{}
			h.onPing = func() { // there is always one more to be read
				if pings++; pings == 1 {
					_ = end(h.below)
				}
				conn := <-client
				if pings == most {
					_ = conn.Close()
				}
				_, _ = conn.Write(wstest.Frame(0x89, "", 1))
				client <- conn
			}
			conn := connect(t, h)
			client <- conn
			testenv.Must(t, testenv.Err(conn.Write(wstest.Frame(0x89, "", 1))))
			if err := <-h.ended; err == nil || pings == most {
				t.Errorf("%v after %d pings", err, pings)
			}
		})
	}
}

// Close does not wait for a handler, which may wait for a back end.
func TestCloseDoesNotWaitForTheHandler(t *testing.T) {
	busy, free := make(chan struct{}), make(chan struct{})
	h := &heard{onText: func() { close(busy); <-free }}
	conn := connect(t, h)
	testenv.Must(t, testenv.Err(conn.Write(slices.Concat(wstest.Frame(0x81, "hello", 3),
		wstest.Frame(0x81, "not looked at any more", 3)))))
	<-busy
	testenv.WantErr(t, h.conn.Close(), nil)
	close(free)
	testenv.WantFail(t, <-h.ended, "reading")
	if _, _ = io.Copy(io.Discard, conn); !slices.Equal(h.got, []string{"text hello"}) { // the connection is closed
		t.Errorf("heard %q", h.got)
	}
}

func TestWithoutASocketTheLibraryReads(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()   //nolint:errcheck // a pipe
	defer theirs.Close() //nolint:errcheck // a pipe
	testenv.WantErr(t, (&Conn{Conn: ours}).ReadPlain(limit, &heard{}), nil)
}

// FuzzParse: a plain frame has the payload that was sent. No other bytes are changed.
func FuzzParse(f *testing.F) {
	f.Add(wstest.Frame(0x81, "tap", 77))
	f.Add(wstest.Frame(0x89, "", 0))
	f.Add(wstest.Frame(0x81, strings.Repeat("y", 300), 1<<31))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bytes.Clone(data)
		got, what := parsePlain(b, limit)
		if what != plain {
			if !bytes.Equal(b, data) {
				t.Error("changed what is not plain")
			}
			return
		}
		if got.size > len(data) || len(got.payload) > limit || !bytes.Equal(b[got.size:], data[got.size:]) {
			t.Fatalf("%d of %d bytes, payload %d", got.size, len(data), len(got.payload))
		}
		key := binary.LittleEndian.Uint32(data[got.size-len(got.payload)-4:])
		if again := wstest.Frame(data[0], string(got.payload), key); !bytes.Equal(again, data[:got.size]) {
			t.Errorf("%x was read as %q", data[:got.size], got.payload)
		}
	})
}
