package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
)

const (
	handshakeWithin = 10 * time.Second
	writeWithin     = 10 * time.Second
	maxMessage      = 1 << 22 // bytes; the largest wave has 7 KB
	bufferSize      = 1024    // bytes, for each direction
)

// writeBuffers are shared, because most sockets are silent at any moment.
var writeBuffers sync.Pool

// SocketOptions are the options of Dial.
type SocketOptions struct {
	URL       string      // ws://host:port/ws or wss://…; required
	Header    http.Header // sent with the handshake. Defaults to nothing
	LocalAddr net.Addr    // of the connection. Defaults to the system's choice
}

// Socket is a connection in the protocol redrain.v1. One goroutine calls Receive. Any goroutine may call the other
// methods at any time.
type Socket struct {
	conn    *websocket.Conn
	message []byte // that Receive reads into
	rest    []byte // objects of message that Receive has not returned yet

	writing sync.Mutex
}

// RefusedError is a handshake that the server has refused.
type RefusedError struct {
	URL    string
	Status string // of HTTP, such as "503 Service Unavailable"
	after  time.Duration
}

// Error names the server and its answer.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("connect to %s: the server answers %s", e.URL, e.Status)
}

// RetryAfter returns the server's time until a retry; 0 without one.
func (e *RefusedError) RetryAfter() time.Duration { return e.after }

// ErrProtocol is returned by Receive if the server breaks the WebSocket protocol.
var ErrProtocol = errors.New("broken frame")

// ClosedError is the server's reason for closing the connection.
type ClosedError struct {
	Code   int
	Reason string // the server's words; may be ""
}

// Error returns the reason and the code.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the server closed the connection: %s (code %d)", e.Reason, e.Code)
}

// The close codes from 4500 to 4599 are final, except for a late hello. 4004 means a newer connection of the player,
// and 1009 a token that is too long.
const (
	codeReplaced   = 4004
	codeFinal      = 4500
	codeProtocol   = 4501
	codeFinalLimit = 4600
)

// Retry reports whether the client should connect again.
func (e *ClosedError) Retry() bool {
	if e.Code == codeProtocol && e.Reason == wire.LateHello {
		return true
	}
	return e.Code != websocket.CloseMessageTooBig && e.Code != codeReplaced &&
		(e.Code < codeFinal || e.Code >= codeFinalLimit)
}

// Dial connects. It returns a *RefusedError if the server answers with another status than 101.
func Dial(ctx context.Context, o SocketOptions) (*Socket, error) {
	dialer := websocket.Dialer{
		Subprotocols: []string{wire.Subprotocol}, HandshakeTimeout: handshakeWithin,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, WriteBufferPool: &writeBuffers,
		NetDialContext: (&net.Dialer{LocalAddr: o.LocalAddr}).DialContext,
	}
	conn, resp, err := dialer.DialContext(ctx, o.URL, o.Header) // gorilla has closed the body
	switch {
	case err != nil && resp != nil:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // redrain sends no dates
		return nil, &RefusedError{URL: o.URL, Status: resp.Status, after: time.Duration(seconds) * time.Second}
	case err != nil:
		return nil, fmt.Errorf("connect to %s: %w", o.URL, err)
	}
	conn.SetReadLimit(maxMessage)
	return &Socket{conn: conn}, nil
}

// Message is one object that the server has sent.
type Message struct {
	Type string // such as "wave"
	Body []byte // JSON; valid until the next call of Receive
	// First is true for the first object of a frame.
	First bool
}

// Receive waits for the next message. It returns a *ClosedError if the server has closed the connection.
func (s *Socket) Receive() (Message, error) {
	for first := false; ; {
		if len(s.rest) == 0 {
			if err := s.read(); err != nil {
				return Message{}, err
			}
			s.rest, first = s.message, true
		}
		body, rest, _ := bytes.Cut(s.rest, []byte{'\n'})
		if s.rest = rest; len(body) > 0 {
			return Message{Type: typeOf(body), Body: body, First: first}, nil
		}
	}
}

// read reads a frame into s.message.
func (s *Socket) read() error {
	_, from, err := s.conn.NextReader()
	s.message = s.message[:0]
	for err == nil {
		s.message = slices.Grow(s.message, 128)
		var n int
		n, err = from.Read(s.message[len(s.message):cap(s.message)])
		s.message = s.message[:len(s.message)+n]
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	closed, ok := errors.AsType[*websocket.CloseError](err)
	switch {
	case ok && closed.Code != websocket.CloseAbnormalClosure: // that one means a lost connection
		return &ClosedError{Code: closed.Code, Reason: closed.Text}
	case !ok && strings.HasPrefix(err.Error(), "websocket: "): // gorilla has no type for these
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return err
}

// typeOf reads the type of a message. The server writes it first, any other spelling is left to encoding/json.
func typeOf(body []byte) string {
	if rest, ok := bytes.CutPrefix(body, []byte(`{"type":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte{'"'}); ok {
			return string(name)
		}
	}
	var m struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(body, &m) // an object without a type is of type ""
	return m.Type
}

// message is a request in the protocol. Missing fields are empty.
type message struct {
	Type     string `json:"type"`
	ID       int64  `json:"id"`
	Token    string `json:"token,omitempty"`
	Campaign string `json:"campaign,omitempty"`
	Drop     string `json:"drop,omitempty"`
	T        int64  `json:"t,omitempty"`
}

// Hello is the first message of a connection. The server answers with a "welcome" of this id.
func (s *Socket) Hello(id int64, token, campaign string) error {
	return s.send(message{Type: wire.TypeHello, ID: id, Token: token, Campaign: campaign})
}

// Join moves to the room of another campaign. The server answers with a "welcome" of this id.
func (s *Socket) Join(id int64, campaign string) error {
	return s.send(message{Type: wire.TypeJoin, ID: id, Campaign: campaign})
}

// Tap taps a drop, such as "7.3". The server answers with one "result" or "error" of this id.
func (s *Socket) Tap(id int64, drop string) error {
	return s.send(message{Type: wire.TypeTap, ID: id, Drop: drop})
}

// Ping asks for a "pong", which repeats t and has the server's time.
func (s *Socket) Ping(id, t int64) error { return s.send(message{Type: wire.TypePing, ID: id, T: t}) }

func (s *Socket) send(m message) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, wire.Encode(m))
}

// Leave notifies the server that the player leaves for good. The server closes the connection, which Receive returns as
// a *ClosedError with code 1000.
func (s *Socket) Leave() error {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	return s.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(writeWithin))
}

// Close ends the connection without a close frame. Receive then returns an error.
func (s *Socket) Close() error { return s.conn.Close() }
