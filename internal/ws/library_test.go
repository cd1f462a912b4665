package ws

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/ws/wstest"

	"github.com/gorilla/websocket"
)

// FuzzServerReadsLikeTheLibrary feeds the bytes of a client to ReadPlain with the library behind it, and to the library
// alone. Both receive the same messages and give the same answers.
func FuzzServerReadsLikeTheLibrary(f *testing.F) {
	for _, c := range wstest.Cases() {
		f.Add(c.Bytes, uint(0))
		f.Add(c.Bytes, uint(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint) {
		want, got := &listener{t: t}, &listener{t: t}
		want.library(&memory{in: stream})

		below := &Conn{Conn: &memory{}}
		r := newReader(below, limit, got)
		rest := bytes.Clone(stream) // is unmasked in place
		got.upgrade(below)
		for at := int(cut % uint(len(rest)+1)); ; at = len(rest) {
			r.consume(append(bytes.Clone(r.unused), rest[:at]...))
			if rest = rest[at:]; r.notPlain || len(rest) == 0 {
				break
			}
		}
		if r.notPlain && bytes.HasPrefix(r.unused, []byte{finalBit | reservedBits | OpClose, maskBit | 1}) {
			return // the library, which has seen half a code in it, reads it otherwise
		}
		if below.rest = slices.Concat(r.unused, rest); r.notPlain {
			got.readOn()
		} else if _, found := parsePlain(below.rest, r.limit); len(below.rest) > 0 && found != partial {
			t.Fatalf("%x is left, and is not a part of a plain frame", below.rest)
		}
		testenv.Equal(t, got.heard, want.heard, "heard")
		if !bytes.Equal(got.conn.written(), want.conn.written()) {
			t.Errorf("answered %x\nwant     %x", got.conn.written(), want.conn.written())
		}
	})
}

// listener records a client's messages.
type listener struct {
	t     *testing.T
	heard []string
	conn  libraryConn
}

// libraryConn is the library's connection over bytes in memory.
type libraryConn struct {
	*websocket.Conn

	from *memory
}

func (c libraryConn) written() []byte { return c.from.out }

func (l *listener) Text(m []byte) { l.heard = append(l.heard, "text "+string(m)) }
func (l *listener) Ping(m []byte) {
	_ = l.conn.PingHandler()(string(m))
}
func (l *listener) Pong(m []byte) { l.heard = append(l.heard, "pong "+string(m)) }

// library lets the library alone read.
func (l *listener) library(from *memory) {
	l.upgrade(from)
	l.readOn()
}

// upgrade puts the library above a connection.
func (l *listener) upgrade(conn net.Conn) {
	l.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for key, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-Websocket-Version": "13", "Sec-Websocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		r.Header.Set(key, value)
	}
	upgrader := websocket.Upgrader{ReadBufferSize: 256}
	up := testenv.Got(upgrader.Upgrade(&hijacked{httptest.NewRecorder(), conn}, r, nil)).Must(l.t)
	up.SetReadLimit(limit)
	answer := up.PingHandler()
	up.SetPingHandler(func(m string) error {
		l.heard = append(l.heard, "ping "+m)
		return answer(m)
	})
	up.SetPongHandler(func(m string) error { l.Pong([]byte(m)); return nil })
	from, ok := conn.(*memory)
	if !ok {
		from = conn.(*Conn).Conn.(*memory)
	}
	from.out = nil
	l.conn = libraryConn{up, from}
}

// readOn lets the library read to the end.
func (l *listener) readOn() {
	for {
		kind, m, err := l.conn.ReadMessage()
		switch {
		case err != nil:
			return
		case kind == websocket.TextMessage:
			l.Text(m)
		default:
			l.heard = append(l.heard, "binary "+string(m))
		}
	}
}

// hijacked hands a connection to the upgrade.
type hijacked struct {
	http.ResponseWriter

	conn net.Conn
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// memory is a connection whose peer has sent all that it will send.
type memory struct {
	net.Conn

	in, out []byte
}

func (m *memory) Read(p []byte) (int, error) {
	if len(m.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.in)
	m.in = m.in[n:]
	return n, nil
}
func (m *memory) Write(p []byte) (int, error)      { m.out = append(m.out, p...); return len(p), nil }
func (m *memory) Close() error                     { return nil }
func (m *memory) SetDeadline(time.Time) error      { return nil }
func (m *memory) SetReadDeadline(time.Time) error  { return nil }
func (m *memory) SetWriteDeadline(time.Time) error { return nil }

// FuzzFramesThatAreWritten: the library reads a server's frame as it was written, and its header is the shortest.
func FuzzFramesThatAreWritten(f *testing.F) {
	for _, n := range []int{0, 1, 125, 126, 127, 1<<16 - 1, 1 << 16, 1<<16 + 1} {
		f.Add(bytes.Repeat([]byte("红"), n/3+1)[:n], true)
		f.Add(bytes.Repeat([]byte("x"), n), false)
	}
	f.Fuzz(func(t *testing.T, payload []byte, text bool) {
		opcode := byte(websocket.BinaryMessage)
		if text {
			opcode = OpText
		}
		want := 2
		switch {
		case len(payload) >= 1<<16:
			want = MaxHeader
		case len(payload) > 125:
			want = 4
		}
		server := append(AppendHeader(nil, opcode, len(payload)), payload...)
		testenv.Equal(t, len(server)-len(payload), want, "bytes of the header")
		if kind, got, err := libraryClient(t, server).ReadMessage(); err != nil || kind != int(opcode) ||
			!bytes.Equal(got, payload) {
			t.Errorf("the library reads %d bytes of type %d, %v", len(got), kind, err)
		}
	})
}

// libraryClient is a client of the library's that has got these bytes from its server.
func libraryClient(t *testing.T, bytes []byte) *websocket.Conn {
	t.Helper()
	conn := &answering{memory: &memory{}, then: bytes}
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return conn, nil }}
	client, _, err := d.Dial("ws://server/", nil)
	testenv.Must(t, err)
	return client
}

// answering answers the request for an upgrade.
type answering struct {
	*memory

	then []byte
}

func (a *answering) Write(p []byte) (int, error) {
	if r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(p))); err == nil {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		a.in = append([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n"), a.then...)
	}
	return len(p), nil
}

// A close frame that is written is read with its code and as much of the reason as it has room for, in whole
// characters.
func TestCloseFrames(t *testing.T) {
	for _, reason := range []string{"", "short", strings.Repeat("x", 123), strings.Repeat("x", 124),
		strings.Repeat("红包", 100), "x" + strings.Repeat("雨", 100)} {
		b := AppendClose([]byte("before"), 4008, reason)[len("before"):]
		_, _, err := libraryClient(t, b).ReadMessage()
		closed, ok := err.(*websocket.CloseError) //nolint:errorlint // as the library returns it
		if !ok || closed.Code != 4008 || !strings.HasPrefix(reason, closed.Text) ||
			len(closed.Text) < min(len(reason), maxReason-3) {
			t.Errorf("%.10q… of %d bytes is read as %v", reason, len(reason), err)
		}
	}
}
