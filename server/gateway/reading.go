package gateway

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/room"
)

// restWithin is the time limit for a message from its first frame on, if the library reads it. Package ws has the
// same limit for its frames.
const restWithin = 10 * time.Second

// mostPieces limits a fragmented message with its headers: twice the bytes of the longest tap in one-byte
// fragments. Otherwise empty fragments would cost the node and not their sender.
const mostPieces = 16 * wire.MaxRequest

// tooLarge is the client's message beside 1009.
var tooLarge = fmt.Sprintf("a message has at most %d bytes, one with a token %d", wire.MaxRequest, wire.MaxWithToken)

// run reads the connection until it is over. A panic ends this connection and no other.
func (s *session) run() {
	defer s.close()
	if !s.g.o.Recoverer.Do(part, s.read) {
		s.panicked()
		s.g.o.Recoverer.Do(part, s.read) // until the peer has seen the reason
	}
}

// read returns when the connection is over. From the end of the session it only waits for the peer to answer the
// close frame. So unread messages of the peer do not destroy the frame.
func (s *session) read() {
	s.conn.SetReadLimit(wire.MaxWithToken) // handle refuses other messages above MaxRequest
	answer := s.conn.PingHandler()
	s.conn.SetPingHandler(func(data string) error {
		if !s.withinControlBudget() {
			return nil
		}
		return answer(data)
	})
	s.conn.SetPongHandler(func(string) error { s.Pong(nil); return nil })
	if s.plain.ReadPlain(wire.MaxRequest, s) != nil {
		return
	}
	for {
		kind, message, err := s.conn.NextReader()
		if err == nil {
			late := time.AfterFunc(restWithin, func() { s.member.Close(room.CodeProtocol, "half a message") })
			err = s.readMessage(kind, message)
			late.Stop()
		}
		if err != nil {
			s.left = websocket.IsCloseError(err, websocket.CloseNormalClosure)
			s.overrun(err)
			return // gorilla has answered violations of the protocol with 1002 or 1009
		}
	}
}

// readMessage reads one message and handles it.
func (s *session) readMessage(kind int, message io.Reader) error {
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // New makes nothing else
	defer buffers.Put(buffer)
	s.plain.Allow(mostPieces)
	data, err := readInto((*buffer)[:0], message)
	received := s.plain.Received()
	s.plain.Allow(0)
	if err != nil {
		return err
	}
	if kind != websocket.TextMessage {
		s.member.Pong()
		if !s.ended {
			s.end(websocket.CloseUnsupportedData, "text frames only")
		}
		return nil
	}
	s.text(data, max(received, len(data)))
	return nil
}

// Text handles a message, and keeps nothing of data. With Ping and Pong it makes the session a ws.Handler.
func (s *session) Text(data []byte) { s.text(data, len(data)) }

// text handles a message. size is the number of bytes it took on the connection, with all frame headers.
func (s *session) text(data []byte, size int) {
	now := time.Now()
	s.member.PongAt(now)
	s.ended = s.ended || s.out.Load()
	if s.user != "" && !s.ended && s.hasExpired() { // its timer may be late; no tap wins after it
		s.end(room.CodeExpired, expired)
	}
	if s.ended {
		return
	}
	if !s.budget.message(now, size) {
		s.overBudget(now)
		return
	}
	if tap, ok := wire.ParseTap(data); ok && s.user != "" && !s.watches { // it accepts only ASCII
		s.tap(tap, now)
		return
	}
	if !utf8.Valid(data) {
		s.end(websocket.CloseInvalidFramePayloadData, "not UTF-8")
		return
	}
	s.request(data)
}

// Ping answers a ping of the client, as the library does.
func (s *session) Ping(data []byte) { _ = s.conn.PingHandler()(string(data)) }

// Pong takes the answer to one of our pings.
func (s *session) Pong([]byte) {
	s.member.Pong()
	s.withinControlBudget()
}

// buffers hold messages while they are read. One is taken when a message has begun, so that a silent connection holds
// none. It has one byte more than the longest message, so that the end is seen without another buffer.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, wire.MaxWithToken+1); return &b }}

// readInto reads all into b, which is large enough for the read limit.
func readInto(b []byte, from io.Reader) ([]byte, error) {
	for {
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// overrun reads and drops the rest of a message that was too large. The system would otherwise reset the connection,
// and the peer would not see the close frame. If the library has sent a close frame already, the member drops this one.
func (s *session) overrun(err error) {
	const most, within = 1 << 20, time.Second
	if !errors.Is(err, websocket.ErrReadLimit) && !errors.Is(err, ws.ErrTooMuch) {
		return
	}
	if !s.ended {
		text := websocket.FormatCloseMessage(websocket.CloseMessageTooBig, tooLarge)
		_ = s.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(within)) // a peer that is gone needs none
	}
	rest := s.conn.NetConn()
	if rest.SetReadDeadline(time.Now().Add(within)) == nil {
		_, _ = io.CopyN(io.Discard, rest, most)
	}
}
