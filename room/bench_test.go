package room

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// wave has the size of a wave of the default rain.
var wave = bytes.Repeat([]byte("x"), 450)

// BenchmarkWave hands one wave to all members of a room, and waits until the last frame is written. ns/member is the
// cost of a delivered frame in time of the whole machine. Divide by the members to compare the other figures.
func BenchmarkWave(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("fake/%d", n), func(b *testing.B) {
			l := running(b)
			for i := range n {
				l.Join("c", strconv.Itoa(i), l.newMember(idleConn{}, nil))
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Room("c").Broadcast(Rain, wave)
				l.workers.wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
		})
	}
}

// BenchmarkResult is one result to one member: queued, and written.
func BenchmarkResult(b *testing.B) {
	l := running(b)
	m := l.newMember(idleConn{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		m.Send(wave)
		l.workers.wait()
	}
}

// idleConn takes everything.
type idleConn struct{}

func (idleConn) tryWrite(p []byte) (int, error) { return len(p), nil }
func (idleConn) write([]byte) error             { return nil }
func (idleConn) deadline(time.Time)             {}
func (idleConn) Close() error                   { return nil }

// running is a lobby whose Run ends with the test.
func running(tb testing.TB) *Lobby {
	tb.Helper()
	return runningWith(tb, Options{})
}

func runningWith(tb testing.TB, o Options) *Lobby {
	tb.Helper()
	l := NewLobby(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.Run(ctx) }()
	tb.Cleanup(func() { cancel(); <-done })
	return l
}
