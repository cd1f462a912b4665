package room

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"redrain/internal/rawio"
)

// Socket is a network connection that only its member writes to. It stands between the connection and the WebSocket
// library, which performs the upgrade and reads. The library would also write by itself: answers to pings and close
// frames, and close frames if the peer breaks the protocol. From NewMember on, the member writes these frames.
type Socket struct {
	net.Conn

	direct TryWriter     // nil: every write has to wait
	raw    *rawio.Writer // the value of direct if the connection is a socket of the net package; else nil
	member atomic.Pointer[Member]
}

// TryWriter is a connection that can write without waiting. Connections of the net package need not implement it.
type TryWriter interface {
	// TryWrite writes as much as the connection takes at once. Fewer bytes than given are no error.
	TryWrite(p []byte) (n int, err error)
}

// errForeignWrite is returned to all writers of messages except the member.
var errForeignWrite = errors.New("only the member writes to its connection: use Member.Send")

// NewSocket wraps a connection before its upgrade to a WebSocket. A connection that is neither of the net package nor
// a TryWriter costs a goroutine for each write. The caller must then close the connection through the Socket only.
func NewSocket(c net.Conn) *Socket {
	s := &Socket{Conn: c}
	switch c := c.(type) {
	case TryWriter:
		s.direct = c
	case syscall.Conn:
		if w, err := rawio.NewWriter(c); err == nil {
			s.direct, s.raw = w, w
		}
	}
	return s
}

// Close closes the connection. Its descriptor must not be used any more by then.
func (s *Socket) Close() error {
	if s.raw != nil {
		s.raw.Close()
	}
	return s.Conn.Close()
}

// Write passes the answer to the upgrade on. Later control frames go to the member, which writes them in its time
// slice; any other write is refused.
func (s *Socket) Write(p []byte) (int, error) {
	m := s.member.Load()
	if m == nil {
		return s.Conn.Write(p)
	}
	if !m.relay(p) {
		return 0, errForeignWrite
	}
	return len(p), nil
}

// SetWriteDeadline does nothing once a member writes to the connection.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	if s.member.Load() != nil {
		return nil
	}
	return s.Conn.SetWriteDeadline(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (s *Socket) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

func (s *Socket) tryWrite(p []byte) (int, error) {
	if s.direct == nil {
		return 0, nil
	}
	return s.direct.TryWrite(p)
}

func (s *Socket) write(p []byte) error {
	_, err := s.Conn.Write(p)
	return err
}

func (s *Socket) deadline(t time.Time) { _ = s.Conn.SetWriteDeadline(t) } // fails only if every write fails too
