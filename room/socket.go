package room

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"redrain/internal/rawio"
)

// outlet is what a member needs of a connection. A Socket is one.
type outlet interface {
	// tryWrite writes as much as the connection takes at once, and never waits. Fewer bytes than given are no error.
	tryWrite(p []byte) (n int, err error)
	// write writes all, and waits for the peer until the deadline. One goroutine at a time.
	write(p []byte) error
	// deadline is until when write may wait, also one that waits already; zero: for ever. tryWrite fails when it
	// has passed.
	deadline(t time.Time)
	Close() error
}

// Socket is a network connection that only one place writes to: its member. It stands between the connection and
// the WebSocket library, which makes the upgrade and reads, and would also write by itself: answers to pings and to
// close frames, and close frames of its own when the peer breaks the protocol. From NewMember on, the member does
// that for it.
type Socket struct {
	net.Conn

	now    TryWriter // nil: every write has to wait
	member atomic.Pointer[Member]
}

// TryWriter is what a connection has that can write without waiting. Those of the system have it without being asked.
type TryWriter interface {
	// TryWrite writes as much as the connection takes at once. Fewer bytes than given are no error.
	TryWrite(p []byte) (n int, err error)
}

// errForeignWrite is what somebody gets who writes a message past the member.
var errForeignWrite = errors.New("only the member writes to its connection: use Member.Send")

// NewSocket wraps a connection before its upgrade to a WebSocket. One that is neither the system's nor a TryWriter
// costs a goroutine for each write.
func NewSocket(conn net.Conn) *Socket {
	s := &Socket{Conn: conn}
	switch c := conn.(type) {
	case TryWriter:
		s.now = c
	case syscall.Conn:
		if w, err := rawio.NewWriter(c); err == nil {
			s.now = w
		}
	}
	return s
}

// Write passes the answer to the upgrade on. Control frames after that go to the member, which writes them when it
// is their turn; anything else is refused.
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

// SetWriteDeadline does nothing any more when a member has taken charge.
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
	if s.now == nil {
		return 0, nil
	}
	return s.now.TryWrite(p)
}

func (s *Socket) write(p []byte) error {
	_, err := s.Conn.Write(p)
	return err
}

func (s *Socket) deadline(t time.Time) { _ = s.Conn.SetWriteDeadline(t) } // fails only where every write fails too
