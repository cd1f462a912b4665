package room

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// All at once: members come, sit, move, leave, stall, break and are closed. Meanwhile messages go to rooms and to
// users, and pings fall due all the time. Under -race this is the test of the locks. watchedConn checks that only one
// goroutine writes.
func TestChurn(t *testing.T) {
	const players, rounds = 32, 40
	var opened atomic.Int64
	l := NewLobby(Options{
		ResultsMax: 64, WriteTimeout: 100 * time.Millisecond, PingEvery: 2 * newsStep, PongWait: time.Minute,
		OnOpen: func(*Room) { opened.Add(1) }, OnEmpty: func(*Room) { opened.Add(-1) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()

	var made, closed atomic.Int64
	var mu sync.Mutex
	var conns []*watchedConn
	var visitors sync.WaitGroup
	random := testenv.Random(t)
	for i := range players {
		visitors.Go(func() {
			for round := range rounds {
				conn := &watchedConn{t: t, random: random, hungUp: make(chan struct{}), moved: make(chan struct{}),
					stalls: random.IntN(20) == 0, breaks: random.IntN(20) == 0}
				mu.Lock()
				conns = append(conns, conn)
				mu.Unlock()
				made.Add(1)
				m := l.newMember(conn, func(int) { closed.Add(1) })
				visit(l, m, strconv.Itoa(i%7), round, random)
			}
		})
	}
	visitors.Wait()
	cancel()
	testenv.Must(t, <-ran)

	testenv.Equal(t, made.Load(), closed.Load(), "members that were made, and calls of onClose")
	for _, c := range conns {
		if n := c.closes.Load(); n != 1 {
			t.Fatalf("a connection was closed %d times", n)
		}
		if err := c.check(); err != nil {
			t.Fatalf("after %d bytes: %v", len(c.wire), err)
		}
	}
	if n := len(l.Rooms()); n != 0 || l.Members() != 0 || opened.Load() != 0 {
		t.Errorf("%d rooms, %d members and %d callbacks without their other half are left", n, l.Members(),
			opened.Load())
	}
	testenv.Equal(t, value(t, l.metrics.connections), 0, "counted connections")
}

// visit is the activity of a member between coming and going, and that of others meanwhile.
func visit(l *Lobby, m *Member, user string, round int, random *rand.Rand) {
	for n := range 3 {
		l.Join(strconv.Itoa(random.IntN(3)), user, m)
		m.Send([]byte("welcome"))
		m.Pong()
		for _, r := range l.Rooms() {
			r.Broadcast(Lane(n%laneCount), []byte("to everybody"))
		}
		l.ToUser(user, func() []byte { return []byte("to one, wherever") })
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

// watchedConn fails the test when two goroutines write at once. It also fails unless the bytes are frames with the
// close frame last. It may take less than it is given, stall, or break.
type watchedConn struct {
	t              *testing.T
	random         *rand.Rand
	stalls, breaks bool
	writing        atomic.Bool
	closes         atomic.Int32
	hungUp         chan struct{}
	wire           []byte // belongs to the writing goroutine

	mu    sync.Mutex
	due   time.Time
	moved chan struct{} // closed when due is another
}

func (c *watchedConn) enter() {
	if !c.writing.CompareAndSwap(false, true) {
		c.t.Error("two goroutines write to a connection")
	}
}

func (c *watchedConn) tryWrite(p []byte) (int, error) {
	c.enter()
	defer c.writing.Store(false)
	switch {
	case c.breaks:
		return 0, errors.New("connection reset")
	case c.stalls:
		return 0, nil
	}
	n := len(p)
	if c.random.IntN(4) == 0 {
		n = c.random.IntN(n)
	}
	c.wire = append(c.wire, p[:n]...)
	return n, nil
}

func (c *watchedConn) write(p []byte) error {
	c.enter()
	defer c.writing.Store(false)
	for c.stalls {
		c.mu.Lock()
		due, moved := c.due, c.moved
		c.mu.Unlock()
		select {
		case <-moved:
		case <-c.hungUp:
			return net.ErrClosed
		case <-time.After(time.Until(due)):
			return os.ErrDeadlineExceeded
		}
	}
	c.wire = append(c.wire, p...)
	return nil
}

func (c *watchedConn) deadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *watchedConn) Close() error {
	if c.closes.Add(1) == 1 {
		close(c.hungUp)
	}
	return nil
}

// check reads the written bytes as a client does.
func (c *watchedConn) check() error {
	r := bufio.NewReader(bytes.NewReader(c.wire))
	closed := false
	for {
		opcode, _, err := readFrame(r)
		switch {
		case err == io.EOF: //nolint:errorlint // exactly this: between two frames
			return nil
		case err != nil:
			return err
		case closed:
			return errors.New("something follows the close frame")
		}
		closed = opcode == websocket.CloseMessage
	}
}

// The members of a room are spread evenly over its segments, so that a broadcast keeps all processors busy.
func TestMembersAreSpreadEvenly(t *testing.T) {
	l := NewLobby(Options{})
	const each = 10
	for range each * runtime.GOMAXPROCS(0) {
		l.Join("c", "u", l.newMember(idleConn{}, nil))
	}
	for i := range l.Room("c").segments {
		testenv.Equal(t, len(l.Room("c").segments[i].members), each, "members of segment %d", i)
	}
}

// A segment keeps its memory until three quarters of its members have left.
func TestASegmentShrinksLate(t *testing.T) {
	s := &segment{members: make([]*Member, 0, 128)}
	for range 128 {
		s.add(&Member{})
	}
	for n := 127; n >= 32; n-- {
		if s.remove(s.members[0]); cap(s.members) != 128 {
			t.Fatalf("with %d members left it has room for %d", n, cap(s.members))
		}
	}
	if s.remove(s.members[0]); cap(s.members) != 64 {
		t.Errorf("with 31 members left it has room for %d", cap(s.members))
	}
}

// A message to a user comes to all of their connections, complete and in order. No other user gets it.
func TestAUserIsToldOnEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		peers := map[string]*peer{}
		for i, user := range []string{"u", "u", "other"} {
			m, p := seatPeer(t, l, nil)
			l.Join(fmt.Sprintf("c%d", i), user, m)
			peers[fmt.Sprintf("%s %d", user, i)] = p
		}
		want := numbered("settled", 0, 30) // more than the rain lane holds
		for _, message := range want {
			l.ToUser("u", func() []byte { return []byte(message) })
		}
		for name, p := range peers {
			p.reads()
			synctest.Wait()
			if got := p.got(); name == "other 2" && len(got) > 0 || name != "other 2" && !slices.Equal(got, want) {
				t.Errorf("%s got %q", name, got)
			}
		}
	})
}

// The library's deadline for writing is the member's business, once there is one.
func TestTheLibrarySetsNoDeadline(t *testing.T) {
	c := &deadlineConn{}
	s := NewSocket(c)
	for want := range 2 {
		if c.set != want || s.SetWriteDeadline(time.Now()) != nil {
			t.Errorf("the deadline was set %d times, want %d", c.set, want)
		}
	}
	s.member.Store(&Member{})
	if err := s.SetWriteDeadline(time.Now()); err != nil || c.set != 2 {
		t.Errorf("the deadline was set %d times, %v; want 2", c.set, err)
	}
}

// deadlineConn counts the deadlines for writing.
type deadlineConn struct {
	net.Conn

	set int
}

func (c *deadlineConn) SetWriteDeadline(time.Time) error { c.set++; return nil }
