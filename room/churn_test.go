package room

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Everything at once: members come, sit, move, leave, stall, break and are closed, while rooms are broadcast to, users are
// written to, and pings fall due all the time. Under -race this is the test of the locks; watchedConn is the test of who writes.
func TestChurn(t *testing.T) {
	const players, rounds = 32, 40
	var opened atomic.Int64
	l := NewLobby(Options{
		ResultsMax: 64, WriteTimeout: 100 * time.Millisecond, PingEvery: 2 * wheelTick, PongWait: time.Minute,
		OnOpen: func(string) { opened.Add(1) }, OnEmpty: func(string) { opened.Add(-1) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()

	var made, closed atomic.Int64
	var mu sync.Mutex
	var conns []*watchedConn
	var visitors sync.WaitGroup
	for i := range players {
		visitors.Go(func() {
			for round := range rounds {
				conn := &watchedConn{t: t, hungUp: make(chan struct{}), stalls: rand.N(20) == 0, breaks: rand.N(20) == 0}
				mu.Lock()
				conns = append(conns, conn)
				mu.Unlock()
				made.Add(1)
				m := l.NewMember(conn, func(int) { closed.Add(1) })
				visit(l, m, strconv.Itoa(i%7), round)
			}
		})
	}
	visitors.Wait()
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}

	if made.Load() != closed.Load() {
		t.Errorf("%d members were made and onClose was called %d times", made.Load(), closed.Load())
	}
	for _, c := range conns {
		if n := c.closes.Load(); n != 1 {
			t.Fatalf("a connection was closed %d times", n)
		}
	}
	if n := len(l.Rooms()); n != 0 || l.Online() != 0 || opened.Load() != 0 {
		t.Errorf("%d rooms, %d online and %d callbacks without their other half are left", n, l.Online(), opened.Load())
	}
	if n := value(t, l.metrics.connections); n != 0 {
		t.Errorf("counted %v connections, want 0", n)
	}
}

// visit is what a member does between coming and going, and what others do meanwhile.
func visit(l *Lobby, m *Member, user string, round int) {
	for n := range 3 {
		l.Join(strconv.Itoa(rand.N(3)), user, m)
		m.Send([]byte("welcome"))
		m.Pong()
		for _, r := range l.Rooms() {
			r.Broadcast(Lane(n%laneCount), []byte("to everybody"))
			r.ToUser(user, []byte("to one in this room"))
		}
		l.ToUser(user, []byte("to one, wherever"))
	}
	switch round % 5 {
	case 0:
		m.Close(CodeUnavailable, "")
	case 1:
		m.CloseAfterFlush(CodeShutdown, "")
	case 2:
		m.Gone()
	case 3:
		l.Leave(m)
		m.CloseAfterFlush(CodeShutdown, "")
		m.Gone()
	case 4: // stays until the end
	}
}

// watchedConn fails the test when two goroutines write at once. It may stall, or break.
type watchedConn struct {
	t              *testing.T
	stalls, breaks bool
	deadline       time.Time // unguarded, as gorilla's is: it belongs to the one who writes
	writing        atomic.Bool
	saidGoodbye    atomic.Bool
	closes         atomic.Int32
	hungUp         chan struct{}
}

func (c *watchedConn) write() error {
	if !c.writing.CompareAndSwap(false, true) {
		c.t.Error("two goroutines write to a connection")
	}
	defer c.writing.Store(false)
	switch {
	case c.saidGoodbye.Load():
		return websocket.ErrCloseSent // the close frame may overtake a frame that a worker has in hand, and gorilla refuses that
	case c.stalls:
		select {
		case <-c.hungUp:
			return errors.New("use of closed network connection")
		case <-time.After(time.Until(c.deadline)):
			return os.ErrDeadlineExceeded
		}
	case c.breaks:
		return errors.New("connection reset")
	}
	return nil
}

func (c *watchedConn) WriteMessage(int, []byte) error                        { return c.write() }
func (c *watchedConn) WritePreparedMessage(*websocket.PreparedMessage) error { return c.write() }
func (c *watchedConn) SetWriteDeadline(t time.Time) error                    { c.deadline = t; return nil }

func (c *watchedConn) WriteControl(kind int, _ []byte, deadline time.Time) error {
	if kind == websocket.PingMessage {
		c.deadline = deadline
		return c.write()
	}
	if c.writing.Load() {
		return errors.New("write timeout") // as gorilla says when the writer does not return in time
	}
	if !c.saidGoodbye.CompareAndSwap(false, true) {
		c.t.Error("two close frames were written")
	}
	return nil
}

func (c *watchedConn) Close() error {
	if c.closes.Add(1) == 1 {
		close(c.hungUp)
	}
	return nil
}
