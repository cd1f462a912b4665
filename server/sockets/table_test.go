package sockets

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/server/timeout"
)

func newTable() *Table {
	return New(Options{Trusted: func(a net.Addr) bool { return strings.HasPrefix(a.String(), "10.") },
		Registerer: prometheus.NewRegistry()})
}

// fake is a connection from an address. It keeps the written data.
type fake struct {
	net.Conn

	from    string
	closed  atomic.Bool
	parts   []int
	waits   []time.Duration // of the deadlines of writes
	stalled bool
	text    bytes.Buffer
}

func (f *fake) RemoteAddr() net.Addr {
	addr, err := net.ResolveTCPAddr("tcp", f.from)
	if err != nil {
		panic(err)
	}
	return addr
}

func (f *fake) Close() error { f.closed.Store(true); return nil }

func (f *fake) SetWriteDeadline(t time.Time) error {
	f.waits = append(f.waits, time.Until(t))
	return nil
}

func (f *fake) Write(p []byte) (int, error) {
	if f.stalled {
		return 0, os.ErrDeadlineExceeded
	}
	f.parts = append(f.parts, len(p))
	return f.text.Write(p)
}

// connections is a listener of some connections.
type connections struct {
	net.Listener

	next []*fake
}

var errOver = errors.New("no more")

func (l *connections) Accept() (net.Conn, error) {
	if len(l.next) == 0 {
		return nil, errOver
	}
	c := l.next[0]
	l.next = l.next[1:]
	return c, nil
}

// A connection that is idle between two requests is closed after a while. A proxy's or a busy one is not.
func TestWhoWaitsGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		silent, idle, busy, proxy := &fake{from: "192.0.2.1:1"}, &fake{from: "192.0.2.2:1"}, &fake{from: "192.0.2.3:1"},
			&fake{from: "10.0.0.1:1"}
		l := table.Listener(&connections{next: []*fake{proxy, silent, idle, busy}})
		own := make([]net.Conn, 4)
		for i := range own {
			var err error
			if own[i], err = l.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		table.State(own[3], http.StateActive)
		ended := make(chan error, 1)
		go func() { ended <- table.Run(t.Context()) }()
		time.Sleep(idleWithin / 2)
		table.State(own[2], http.StateActive)
		table.State(own[2], http.StateIdle)
		time.Sleep(idleWithin/2 + 2*sweepEvery)
		synctest.Wait()
		if !silent.closed.Load() || idle.closed.Load() || busy.closed.Load() || proxy.closed.Load() {
			t.Errorf("closed: silent %t, idle %t, busy %t, proxy %t", silent.closed.Load(), idle.closed.Load(),
				busy.closed.Load(),
				proxy.closed.Load())
		}
		time.Sleep(idleWithin)
		synctest.Wait()
		if !idle.closed.Load() || busy.closed.Load() || proxy.closed.Load() {
			t.Errorf("closed: idle %t, busy %t, proxy %t", idle.closed.Load(), busy.closed.Load(), proxy.closed.Load())
		}
		testenv.Equal(t, testutil.ToFloat64(table.metrics.cut.WithLabelValues(cutIdle)), 2, "counted")
		_ = own[3].Close()
		_ = own[3].Close() // counts once
		if table.open != 1 || table.waiting.Len() != 1 || len(table.places) != 0 {
			t.Errorf("%d open, %d wait, places %v", table.open, table.waiting.Len(), table.places)
		}
	})
}

// Each part of an answer has a write deadline, and none exceeds the handler's. A WebSocket has no such deadlines.
func TestAnswersMakeProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, wire := newTable(), &fake{}
		c := &conn{Conn: wire, table: table}
		long := bytes.Repeat([]byte("x"), 2*writePart+1)
		if n, err := c.Write(long); n != len(long) || err != nil || wire.text.Len() != len(long) {
			t.Errorf("%d, %v", n, err)
		}
		if len(wire.parts) != 3 || len(wire.waits) != 3 || wire.waits[2] != timeout.Stall {
			t.Errorf("parts %v, deadlines %v", wire.parts, wire.waits)
		}
		testenv.Must(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
		if _, err := c.Write([]byte("x")); err != nil || wire.waits[len(wire.waits)-1] != time.Second {
			t.Errorf("the handler's deadline: %v, %v", wire.waits, err)
		}
		wire.stalled = true
		if _, err := c.Write(long); !errors.Is(err, os.ErrDeadlineExceeded) ||
			testutil.ToFloat64(table.metrics.cut.WithLabelValues(cutReader)) != 1 {
			t.Errorf("a reader that stands still: %v", err)
		}
		wire.stalled, wire.waits = false, nil
		c.hijacked.Store(true)
		if n, err := c.Write(long); n != len(long) || err != nil || len(wire.waits) != 0 {
			t.Errorf("a WebSocket: %d, %v, %v", n, err, wire.waits)
		}
	})
}

// deadlined is an answer's writer that keeps the deadline for reading.
type deadlined struct {
	http.ResponseWriter

	until time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error { d.until = t; return nil }

// slowly is a body that delivers a KiB after some time.
type slowly struct {
	left  int
	every time.Duration
	conn  *deadlined
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.every)
	if !s.conn.until.IsZero() && time.Now().After(s.conn.until) {
		return 0, os.ErrDeadlineExceeded
	}
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	return min(len(p), 1<<10), nil
}

func (s *slowly) Close() error { return nil }

// A body that goes on comes through however long it is; one that does not ends soon.
func TestBodiesMakeProgress(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		kib   int
		whole bool
	}{{0, 3, true}, {900 * time.Millisecond, 600, true}, {1200 * time.Millisecond, 15, true},
		{1200 * time.Millisecond, 600, false}, {bodyGrace + time.Second, 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			table, conn := newTable(), &deadlined{}
			r := &http.Request{Body: &slowly{left: c.kib, every: c.every, conn: conn}}
			began := time.Now()
			table.guardBody(conn, r)
			testenv.Equal(t, conn.until.Sub(began), bodyGrace, "an unread body has")
			n, err := io.Copy(io.Discard, struct{ io.Reader }{r.Body})
			if c.whole != (err == nil) || c.whole && n != int64(c.kib)<<10 {
				t.Errorf("%d KiB, one in %s: %d bytes, %v", c.kib, c.every, n, err)
			}
			cut := testutil.ToFloat64(table.metrics.cut.WithLabelValues(cutBody))
			if c.whole != conn.until.IsZero() || c.whole == (cut == 1) {
				t.Errorf("%d KiB, one in %s: the deadline is %s", c.kib, c.every, conn.until)
			}
		})
	}
}

func TestBudgetOf(t *testing.T) {
	for descriptors, want := range map[int]int{0: 0, 100: narrowMost, 400: 256, 20_000: 18_734} {
		testenv.Equal(t, BudgetOf(descriptors), want, "connections of %d descriptors", descriptors)
	}
}
