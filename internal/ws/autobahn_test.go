package ws_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/ws"
	"redrain/internal/ws/wstest"
	"redrain/room"
)

// A client sends frames as in RFC 6455: in one piece, in single bytes, and behind a frame that the library has read.
// The server takes them on its whole path: socket, ReadPlain, library, and the member that answers.
func TestAutobahn(t *testing.T) {
	server := newServer(t)
	for _, c := range wstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			server.check(t, c, nil, 0)
			server.check(t, c, nil, 300)
			behind := c
			behind.Heard = append([]string{"binary first"}, c.Heard...)
			if c.Name == wstest.HalfCode { // then only the library sees the frame
				behind.Code = wstest.NoCode
			}
			server.check(t, behind, wstest.Frame(0x82, "first", 7), 0)
		})
	}
}

// server reads and answers as the gateway does.
type server struct {
	url      string
	lobby    *room.Lobby
	sessions chan *session // each connection's, when it has been upgraded
}

type session struct {
	conn   *websocket.Conn
	plain  *ws.Conn
	member *room.Member
	heard  []string
	ended  bool
	over   chan struct{}
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{lobby: room.NewLobby(room.Options{}), sessions: make(chan *session)}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(h.Close)
	s.url = h.Listener.Addr().String()
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	by := &takeover{ResponseWriter: w}
	conn, err := (&websocket.Upgrader{ReadBufferSize: 256}).Upgrade(by, r, nil)
	if err != nil {
		panic(err)
	}
	one := &session{conn: conn, plain: by.plain, member: s.lobby.NewMember(by.socket), over: make(chan struct{})}
	conn.SetReadLimit(wstest.Limit)
	conn.SetPongHandler(func(m string) error { one.Pong([]byte(m)); return nil })
	answer := conn.PingHandler()
	conn.SetPingHandler(func(m string) error { one.hear("ping " + m); return answer(m) })
	go one.read()
	s.sessions <- one
}

func (s *session) read() {
	defer close(s.over)
	defer s.member.Gone()
	err := s.plain.ReadPlain(wstest.Limit, s)
	for err == nil {
		var kind int
		var m []byte
		switch kind, m, err = s.conn.ReadMessage(); {
		case err != nil:
		case kind == websocket.TextMessage:
			s.Text(m)
		default:
			s.hear("binary " + string(m))
		}
	}
	if errors.Is(err, websocket.ErrReadLimit) { // unread bytes would reset the connection
		rest := s.conn.NetConn()
		_ = rest.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = io.Copy(io.Discard, rest)
	}
}

func (s *session) hear(what string) {
	if !s.ended {
		s.heard = append(s.heard, what)
	}
}

func (s *session) Text(m []byte) {
	if !s.ended && !utf8.Valid(m) {
		s.ended = true
		s.member.CloseAfterFlush(websocket.CloseInvalidFramePayloadData, "not UTF-8")
	}
	s.hear("text " + string(m))
}
func (s *session) Ping(m []byte) { _ = s.conn.PingHandler()(string(m)) }
func (s *session) Pong(m []byte) { s.hear("pong " + string(m)) }

// takeover puts a Conn and a Socket below the library.
type takeover struct {
	http.ResponseWriter

	plain  *ws.Conn
	socket *room.Socket
}

func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	t.plain = &ws.Conn{Conn: conn}
	t.socket = room.NewSocket(t.plain)
	return t.socket, buffered, err
}

// check sends the bytes of a case behind some other bytes, the first ones singly. It checks the received messages and
// the close code.
func (s *server) check(t *testing.T, c wstest.Case, before []byte, singly int) {
	t.Helper()
	client, _, err := websocket.DefaultDialer.Dial("ws://"+s.url+"/", nil)
	testenv.Must(t, err)
	defer client.Close() //nolint:errcheck // it may be closed already
	one := <-s.sessions
	conn, sent := client.NetConn(), make(chan struct{})
	go func() { // fails if the server has closed; the close code decides whether it should have
		defer close(sent)
		all := slices.Concat(before, c.Bytes)
		for range min(singly, len(all)) {
			_, _ = conn.Write(all[:1])
			all = all[1:]
		}
		_, _ = conn.Write(all)
		if c.Code == wstest.Open { // the answer to this shows that the server still listens
			_, _ = conn.Write(wstest.Frame(0x88, string([]byte{stillOpen >> 8, stillOpen & 0xff}), 0))
		}
	}()
	code, want := readClose(client), c.Code
	if want == wstest.Open {
		want = stillOpen
	}
	<-sent
	_ = conn.Close()
	<-one.over
	if !slices.Equal(one.heard, c.Heard) || code != want {
		t.Errorf("heard %.60q and closed with %d\nwant  %.60q and %d", one.heard, code, c.Heard, want)
	}
}

// stillOpen is the code of the close frame that a client ends a case with.
const stillOpen = 4998

// readClose reads to the end of the connection and returns the code of the close frame. It answers nothing.
func readClose(client *websocket.Conn) int {
	client.SetPingHandler(func(string) error { return nil })
	client.SetCloseHandler(func(int, string) error { return nil })
	for {
		_, _, err := client.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok && closed.Code != ws.CloseAbnormal {
			return closed.Code
		}
		if err != nil {
			return wstest.Lost
		}
	}
}
