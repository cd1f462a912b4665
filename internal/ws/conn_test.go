package ws

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/ws/wstest"
)

// pair is a connection over TCP: a Conn and its peer.
func pair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	l := testenv.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer l.Close() //nolint:errcheck // nobody else connects
	peer := testenv.Got(net.Dial("tcp", l.Addr().String())).Must(t)
	conn := testenv.Got(l.Accept()).Must(t)
	t.Cleanup(func() { _, _ = peer.Close(), conn.Close() })
	return &Conn{Conn: conn}, peer
}

// onText is a Handler that takes messages alone.
type onText func(message []byte)

func (f onText) Text(m []byte) { f(m) }
func (onText) Ping([]byte)     {}
func (onText) Pong([]byte)     {}

// Close closes the socket by itself, whether a handler runs, ReadPlain waits for the peer, or no goroutine reads.
func TestCloseClosesTheSocket(t *testing.T) {
	for name, reads := range map[string]bool{"while ReadPlain runs": true, "while nobody reads": false} {
		t.Run(name, func(t *testing.T) {
			conn, peer := pair(t)
			ended := make(chan error, 1)
			if reads {
				heard := make(chan struct{})
				go func() { ended <- conn.ReadPlain(limit, onText(func([]byte) { close(heard) })) }()
				testenv.Must(t, testenv.Err(peer.Write(wstest.Frame(0x81, "x", 0))))
				<-heard
			}
			testenv.WantErr(t, conn.Close(), nil)
			testenv.Must(t, peer.SetReadDeadline(time.Now().Add(20*time.Second)))
			testenv.WantErr(t, testenv.Err(peer.Read(make([]byte, 1))), io.EOF, "the peer reads")
			if reads {
				testenv.WantFail(t, <-ended, "ReadPlain")
			}
		})
	}
}

// After Close no deadline can delay the end of the reading.
func TestAClosedConnectionIsNotReadOn(t *testing.T) {
	conn, peer := pair(t)
	const messages = 3
	for range messages {
		testenv.Must(t, testenv.Err(peer.Write(wstest.Frame(0x81, "x", 0))))
	}
	heard := 0
	err := conn.ReadPlain(limit, onText(func([]byte) {
		heard++
		_ = conn.Close()
		testenv.WantErr(t, conn.SetDeadline(time.Time{}), net.ErrClosed,
			"the deadline of a closed connection was moved")
	}))
	if !errors.Is(err, os.ErrDeadlineExceeded) || heard != 1 {
		t.Errorf("heard %d messages, then %v", heard, err)
	}
}
