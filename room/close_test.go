package room

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/ws"

	"github.com/gorilla/websocket"
)

func TestCloseTellsThePeerWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		codes := make(chan int, 10)
		m, p := seatPeer(t, l, func(code int) { codes <- code })
		l.Join("c", "u", m)
		p.reads()
		m.Close(CodeBadToken, "bad token")
		m.Close(CodeOrigin, "too late to change it")
		m.CloseAfterFlush(CodeOrigin, "too late to change it")
		testenv.Equal(t, p.lastFrame(), lastFrame{CodeBadToken, "bad token"}, "the peer received")
		synctest.Wait()
		m.Close(CodeOrigin, "too late to change it")
		m.Gone()
		m.Send([]byte("nobody hears this"))
		l.Join("c", "u", m)
		synctest.Wait()
		if len(codes) != 1 || <-codes != CodeBadToken {
			t.Error("onClose was not called once with the first code")
		}
		if l.Members() != 0 || l.Room("c") != nil {
			t.Error("a closed member is in a room")
		}
		testenv.Equal(t, value(t, l.metrics.connections), 0, "counted connections")
	})
}

func TestCloseAfterFlushWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		want := numbered("result", 0, 100)
		for _, r := range want {
			m.Send([]byte(r))
		}
		m.CloseAfterFlush(CodeShutdown, "shutdown")
		m.Send([]byte("too late"))
		synctest.Wait()
		p.reads()
		testenv.Equal(t, p.lastFrame(), lastFrame{CodeShutdown, "shutdown"}, "the peer received")
		testenv.Equal(t, p.got(), want, "before the close frame came")
	})
}

func TestCloseAfterFlushHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		closed := make(chan int, 2)
		m, p := seatPeer(t, l, func(code int) { closed <- code })
		for range 20 {
			m.Send(make([]byte, joinMax)) // twenty frames
		}
		from := time.Now()
		m.CloseAfterFlush(CodeShutdown, "shutdown")
		go func() { // reads one frame a second: no single write takes too long
			defer close(p.done)
			for p.err == nil {
				<-time.After(time.Second)
				_, _, p.err = p.conn.ReadMessage()
			}
		}()
		testenv.Equal(t, <-closed, CodeShutdown, "closed with")
		defer func() { <-p.done }()
		testenv.Equal(t, time.Since(from), 5*time.Second, "closed after")
	})
}

// After the close frame the peer has time to answer; then the connection is closed anyhow.
func TestLingering(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers bool
		open    time.Duration
	}{{"answered", true, 0}, {"unanswered", false, lingerFor}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := running(t)
				m, p := seatPeer(t, l, nil)
				if !test.answers {
					p.conn.SetCloseHandler(func(int, string) error { return nil })
				}
				p.reads()
				from := time.Now()
				m.Close(CodeUnavailable, "")
				<-p.done
				_, err := p.conn.NetConn().Read(make([]byte, 1)) // past the close frame: the end of the connection
				if d := time.Since(from); err == nil || d < test.open || d > test.open+2*newsStep {
					t.Errorf("the connection was closed after %v (%v), want %v", d, err, test.open)
				}
				synctest.Wait()
				testenv.Equal(t, m.state, closed, "the member is in state")
			})
		})
	}
}

func TestLostConnectionIsClosed(t *testing.T) {
	for name, lose := range map[string]func(*Member, *peer){
		"the reader says so": func(_ *Member, p *peer) { _ = p.conn.Close() },
		"a write fails":      func(m *Member, _ *peer) { m.Send([]byte("result")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := running(t)
				closed := make(chan int, 2)
				var m *Member
				_, p := seatPeer(t, l, func(code int) { closed <- code })
				if strings.HasPrefix(name, "a write") {
					m = l.newMember(failingConn{}, func(code int) { closed <- code })
				}
				from := time.Now()
				lose(m, p)
				if code := <-closed; code != websocket.CloseAbnormalClosure || time.Since(from) != 0 {
					t.Errorf("closed with %d after %v", code, time.Since(from))
				}
			})
		})
	}
}

// Neither a flush nor a close waits for its peer if the reader has ended.
func TestGoneCutsClosingShort(t *testing.T) {
	for name, leave := range map[string]func(*Member){
		"a flush": func(m *Member) { m.CloseAfterFlush(CodeShutdown, "") },
		"a close": func(m *Member) { m.Close(CodeShutdown, "") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan int, 2)
				m, _ := seatPeer(t, running(t), func(code int) { closed <- code })
				m.Send([]byte("never read"))
				synctest.Wait()
				leave(m)
				synctest.Wait()
				from := time.Now()
				m.Gone()
				if code := <-closed; code != CodeShutdown || time.Since(from) != 0 {
					t.Errorf("closed with %d after %v", code, time.Since(from))
				}
			})
		})
	}
}

// The answer may come before the worker that wrote the close frame has noticed that it is out.
func TestGoneDuringTheFarewell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		conn := &promptConn{}
		conn.m = l.newMember(conn, nil)
		conn.m.Close(CodeShutdown, "")
		synctest.Wait()
		if !conn.closed {
			t.Error("the connection of a peer that has answered is still open")
		}
	})
}

// promptConn belongs to a peer that answers a close frame at once.
type promptConn struct {
	idleConn
	m      *Member
	closed bool
}

func (c *promptConn) tryWrite(p []byte) (int, error) { c.m.Gone(); return len(p), nil }
func (c *promptConn) Close() error                   { c.closed = true; return nil }

// failingConn writes nothing.
type failingConn struct{ idleConn }

func (failingConn) tryWrite([]byte) (int, error) { return 0, errors.New("connection reset") }

// A peer that has answered the close frame keeps neither a timer nor the member.
func TestAnAnsweredMemberHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m := l.newMember(idleConn{}, nil)
		m.Close(CodeShutdown, "")
		synctest.Wait()
		m.mu.Lock()
		testenv.Equal(t, m.state, lingering, "state")
		m.mu.Unlock()
		m.Gone()
		synctest.Wait() // no time passes
		if timed := m.timer.Stop(); timed || m.state != closed || len(l.alive) > 0 {
			t.Errorf("state %d, with a timer: %v, %d members are kept", m.state, timed, len(l.alive))
		}
	})
}

// Nothing follows half a frame, and nothing follows a close of ours: not even the library's close frame.
func TestNoCloseFrameWhereItCannotBeRead(t *testing.T) {
	answer := ws.AppendClose(nil, websocket.CloseGoingAway, "")
	for name, leave := range map[string]func(m *Member){
		"after half a frame": func(m *Member) { m.relay(answer) },
		"after our close":    func(m *Member) { m.Close(CodeShutdown, ""); m.relay(answer); m.Gone() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := running(t)
				conn := &stuckConn{release: make(chan error)}
				m := l.newMember(conn, nil)
				m.Send([]byte("result"))
				synctest.Wait() // half of it is out
				leave(m)
				var err error
				if name == "after half a frame" {
					err = errors.New("connection reset")
				}
				conn.release <- err
				synctest.Wait()
				if conn.writes != 1 || m.state != closed {
					t.Errorf("%d writes, state %d; want the first half and the end", conn.writes, m.state)
				}
			})
		})
	}
}

// stuckConn takes half a frame at once; the rest waits for release.
type stuckConn struct {
	idleConn
	writes  int
	release chan error
}

func (c *stuckConn) tryWrite(p []byte) (int, error) { c.writes++; return len(p) / 2, nil }
func (c *stuckConn) write([]byte) error             { return <-c.release }
