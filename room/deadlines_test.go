package room

import (
	"bytes"
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/ws"
)

func TestPingsComeEachPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, from := running(t), time.Now()
		m, p := seatPeer(t, l, nil)
		p.reads()
		pass(4 * time.Minute)
		if n := len(p.pings); n < 9 || n > 10 {
			t.Fatalf("%d pings in 4 minutes, want one each 25 s", n)
		}
		if first := p.pings[0].Sub(from); first > 25*time.Second+newsStep {
			t.Errorf("the first ping came after %v", first)
		}
		for i := range p.pings[1:] {
			if d := p.pings[i+1].Sub(p.pings[i]); d < 25*time.Second || d > 25*time.Second+2*newsStep {
				t.Errorf("%v between two pings", d)
			}
		}
		if !m.isOpen() {
			t.Error("a member that answers its pings was closed")
		}
	})
}

// Members that came together must not be pinged together.
func TestFirstPingsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		const players, seconds = 500, 25
		var perSecond [seconds + 1]atomic.Int32
		from := time.Now()
		for range players {
			l.newMember(pingConn{ping: func() { perSecond[time.Since(from)/time.Second].Add(1) }}, nil)
		}
		pass(seconds*time.Second + newsStep)
		for second := range perSecond {
			if n := perSecond[second].Load(); n > 4*players/seconds {
				t.Errorf("%d of %d members had their first ping in second %d", n, players, second)
			}
		}
	})
}

func TestRunClosesWhoIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLobby(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- l.Run(ctx) }()
		codes := make(chan int, 10)
		closed := func(code int) { codes <- code }

		m, p := seatPeer(t, l, closed)
		p.reads()
		l.Join("c", "u", m)
		stalled, _ := seatPeer(t, l, closed)
		stalled.Send([]byte("never read"))
		leaving, last := seatPeer(t, l, closed)
		leaving.Send([]byte("farewell"))
		leaving.CloseAfterFlush(CodeUnavailable, "")
		last.reads()

		cancel()
		testenv.WantErr(t, <-ran, nil, "Run returned")
		if len(codes) != 3 || l.Members() != 0 || l.workers.running+l.workers.waiting != 0 {
			t.Errorf("after Run: %d of 3 closed, %d online, %d workers", len(codes), l.Members(),
				l.workers.running+l.workers.waiting)
		}
		testenv.Equal(t, p.lastFrame().code, CodeShutdown, "the peer received")
		if code := last.lastFrame().code; code != CodeUnavailable || len(last.got()) != 1 {
			t.Errorf("who was being closed after a flush got %q and code %d", last.got(), code)
		}

		late, _ := seatPeer(t, l, closed)
		if late.isOpen() || len(codes) != 4 {
			t.Error("a member made after Run has not been closed at once")
		}
	})
}

// pingConn accepts all bytes and reports pings.
type pingConn struct {
	idleConn
	ping func()
}

func (c pingConn) tryWrite(p []byte) (int, error) {
	if bytes.Equal(p, pingFrame) {
		c.ping()
	}
	return len(p), nil
}

// A peer that was waited for once, and read on in time, must not be lost to that deadline when it has long passed.
func TestDeadlineEndsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const never = 100 * 365 * 24 * time.Hour // the first ping comes at a random point of it
		l := runningWith(t, Options{PingEvery: never, PongWait: never})
		conn := &haltingConn{}
		m := l.newMember(conn, nil)
		for range 3 {
			m.Send([]byte("result"))
			pass(2 * l.o.WriteTimeout)
		}
		if want := 3 * (2 + len("result")); !m.isOpen() || conn.taken != want {
			t.Errorf("the member is open: %v, and %d of %d bytes were written", m.isOpen(), conn.taken, want)
		}
	})
}

// haltingConn takes no more than half at once.
type haltingConn struct {
	idleConn
	due   time.Time
	taken int
}

func (c *haltingConn) tryWrite(p []byte) (int, error) { return c.take(p[:len(p)/2]) }
func (c *haltingConn) write(p []byte) error           { _, err := c.take(p); return err }
func (c *haltingConn) deadline(t time.Time)           { c.due = t }

func (c *haltingConn) take(p []byte) (int, error) {
	if !c.due.IsZero() && !time.Now().Before(c.due) {
		return 0, os.ErrDeadlineExceeded
	}
	c.taken += len(p)
	return len(p), nil
}

// A leaving client that goes on pinging is closed like any other: its pongs do not keep it.
func TestPingsDoNotKeepAMemberThatIsLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		conn := &pingedConn{leaving: make(chan struct{})}
		closed := make(chan int, 1)
		conn.m = l.newMember(conn, func(code int) { closed <- code })
		conn.m.Send([]byte("bad message"))
		conn.m.CloseAfterFlush(CodeBadToken, "bad token")
		close(conn.leaving)
		if code := <-closed; code != CodeBadToken || conn.writes != 2 {
			t.Errorf("closed with %d, after %d writes; want the message and the close frame", code, conn.writes)
		}
	})
}

// pingedConn is the connection of a client that answers each write with a ping. It writes nothing until the member is
// leaving.
type pingedConn struct {
	idleConn
	m       *Member
	leaving chan struct{}
	writes  int
}

func (c *pingedConn) tryWrite(p []byte) (int, error) {
	<-c.leaving
	if c.writes++; c.writes < 10_000 { // for ever
		c.m.relay(append(ws.AppendHeader(nil, websocket.PongMessage, 4), "pong"...))
	}
	return len(p), nil
}

// Each event leads from a state to a later one of the member's life, or changes nothing. Every state but the last has a
// way on.
func TestTransitionsLeadOnward(t *testing.T) {
	for from := open; from < stateCount; from++ {
		ways := 0
		for e := range eventCount {
			if to := transitions[from][e]; to != stay {
				if ways++; to <= from {
					t.Errorf("event %d leads from state %d back to %d", e, from, to)
				}
			}
		}
		testenv.Equal(t, ways == 0, from == closed, "from state %d there are %d ways on", from, ways)
	}
}

// Silence counts from the last message of the peer, or from its arrival.
func TestSilenceBeginsWithTheLastSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		pass(2 * l.o.PongWait)
		for _, wait := range []time.Duration{0, l.o.PongWait - time.Second} {
			closed := make(chan int, 1)
			m := l.newMember(idleConn{}, func(code int) { closed <- code })
			pass(wait)
			if wait > 0 {
				m.Pong()
			}
			from := time.Now()
			code := <-closed
			if d := time.Since(from); code != CodeNoPong || d < l.o.PongWait || d > l.o.PongWait+2*newsStep {
				t.Errorf("closed with %d after %v of silence, want %v", code, d, l.o.PongWait)
			}
		}
	})
}
