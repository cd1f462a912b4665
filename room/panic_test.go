package room

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/internal/ws"
)

// If the serving of one member panics, that member is closed and all others are served on.
func TestAPanicHarmsNobodyElse(t *testing.T) {
	for name, test := range map[string]struct {
		conn  *breakingConn
		begin func(m *Member)
		code  int // that onClose is given
	}{
		"a write at once":    {&breakingConn{now: true}, func(m *Member) { m.Send([]byte("x")) }, ws.CloseAbnormal},
		"a write that waits": {&breakingConn{later: true}, func(m *Member) { m.Send([]byte("x")) }, ws.CloseAbnormal},
		"while it is closed": {&breakingConn{later: true}, func(m *Member) {
			conn := m.conn.(*breakingConn)
			conn.held = make(chan struct{})
			m.Send([]byte("x"))
			synctest.Wait() // the write is in flight
			m.Close(CodeShutdown, "")
			close(conn.held)
		}, CodeShutdown},
		"while it drains": {&breakingConn{now: true}, func(m *Member) {
			m.mu.Lock() // the worker waits for both
			defer m.mu.Unlock()
			m.lanes[Results].push(frame{bytes: []byte("x")})
			if m.startClose(drain, CodeShutdown, "") {
				m.lobby.workers.ready(Results, listOf(Results, m))
			}
		}, CodeShutdown},
		"the close frame": {&breakingConn{now: true}, func(m *Member) { m.Close(CodeShutdown, "") },
			CodeShutdown},
		"the rest of the close frame": {&breakingConn{later: true}, func(m *Member) { m.Close(CodeShutdown, "") },
			CodeShutdown},
		"closing": {&breakingConn{close: true}, func(m *Member) { m.Close(CodeShutdown, ""); m.Gone() }, CodeShutdown},
		"onClose": {&breakingConn{}, func(m *Member) { m.Close(CodeShutdown, "") }, CodeShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				guard := testenv.Got(loop.NewRecoverer(nil, slog.New(slog.NewTextHandler(&log, nil)), nil)).Must(t)
				l := runningWith(t, Options{Recoverer: guard})
				l.workers.limit = 1 // the worker that has panicked serves the others
				other, p := seatPeer(t, l, nil)
				p.reads()
				var codes []int
				conn := test.conn
				m := l.newMember(conn, func(code int) {
					codes = append(codes, code)
					if name == "onClose" {
						panic("torn")
					}
				})
				l.Join("c", "u", m)
				l.Join("c", "v", other)
				test.begin(m)
				other.Send([]byte("served"))
				pass(lingerFor / 2)
				testenv.Equal(t, conn.closed.Load() == 0, name == "onClose",
					"the peer has time to answer the close frame")
				pass(lingerFor/2 + 2*newsStep)
				if got := p.got(); len(got) != 1 || !other.isOpen() {
					t.Errorf("the other member got %q, and is open: %v", got, other.isOpen())
				}
				if len(codes) != 1 || codes[0] != test.code || m.state != closed || conn.closed.Load() != 1 {
					t.Errorf("onClose got %v, want %d once; state %d, closed %d times", codes, test.code, m.state,
						conn.closed.Load())
				}
				if n := value(t, l.metrics.connections); n != 1 || l.Members() != 1 {
					t.Errorf("%v connections are counted and %d are online, want the other one", n, l.Members())
				}
				if n := strings.Count(log.String(), "panic=torn"); n == 0 {
					t.Errorf("the panic is not logged: %s", log.String())
				}
				testenv.Equal(t, l.workers.running+l.workers.waiting, 0, "goroutines that are left")
			})
		})
	}
}

// breakingConn panics in the chosen call. With later it takes no bytes before that.
type breakingConn struct {
	idleConn
	now, later, close bool
	held              chan struct{} // if there is one, a write that waits goes on when it is closed
	closed            atomic.Int32
}

func (c *breakingConn) tryWrite(p []byte) (int, error) {
	switch {
	case c.now:
		panic("torn")
	case c.later:
		return 0, nil
	}
	return len(p), nil
}

func (c *breakingConn) write([]byte) error {
	if c.later {
		if c.held != nil {
			<-c.held
		}
		panic("torn")
	}
	return nil
}

func (c *breakingConn) Close() error {
	if c.closed.Add(1); c.close {
		panic("torn")
	}
	return nil
}

// A timer that panics does not end the process.
func TestAPanicInATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m := l.newMember(idleConn{}, nil)
		m.mu.Lock()
		m.lobby = nil
		m.mu.Unlock()
		pass(l.o.PingEvery)
		if !m.isOpen() {
			t.Error("the timer has not panicked")
		}
	})
}
