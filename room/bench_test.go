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

// result has the size of a result that won.
var result = wave[:110]

// BenchmarkWave hands one wave to everybody in a room, and waits until the last has been written. ns/member is what
// a delivered frame costs in time of the whole machine; divide by the members to compare the other figures.
func BenchmarkWave(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("fake/%d", n), func(b *testing.B) {
			l := running(b)
			for i := range n {
				l.Join("c", strconv.Itoa(i), l.newMember(idleConn{}, nil))
			}
			benchmarkWave(b, l, n)
		})
		b.Run(fmt.Sprintf("loopback/%d", n), func(b *testing.B) {
			l := running(b)
			loopback(b, l, "c", n)
			benchmarkWave(b, l, n)
		})
	}
}

func benchmarkWave(b *testing.B, l *Lobby, n int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		l.Room("c").Broadcast(Rain, wave)
		l.workers.wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
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

// BenchmarkResults is a result to each of 500 members, in one bundle: queued, and written. Divide by the members.
func BenchmarkResults(b *testing.B) {
	l := running(b)
	members := make([]*Member, 500)
	for i := range members {
		members[i] = l.newMember(idleConn{}, nil)
	}
	b.Run("one by one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, m := range members {
				m.Send(result)
			}
			l.workers.wait()
		}
	})
	b.Run("bundled", func(b *testing.B) {
		var results Bundle
		b.ReportAllocs()
		for b.Loop() {
			for _, m := range members {
				results.Add(m, result)
			}
			l.Deliver(&results)
			l.workers.wait()
		}
	})
}

// BenchmarkResultDuringWaves is how long a result takes to be written while waves go out to a room of 10,000.
func BenchmarkResultDuringWaves(b *testing.B) {
	l := running(b)
	loopback(b, l, "c", 10_000)
	written, reached := make(chan struct{}, 1), make(chan struct{}, 1)
	m := l.newMember(signalConn{written: written}, nil)
	l.Join("c", "the last of a wave", l.newMember(signalConn{written: reached}, nil))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	begun := make(chan struct{})
	waves := 0
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			l.Room("c").Broadcast(Rain, wave)
			<-reached
			if waves++; waves == 1 {
				close(begun)
			}
		}
	}()
	<-begun
	for b.Loop() {
		m.Send(wave)
		<-written
	}
	cancel()
	<-done
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(max(1, waves)), "µs/wave")
}

// idleConn takes everything.
type idleConn struct{}

func (idleConn) tryWrite(p []byte) (int, error) { return len(p), nil }
func (idleConn) write([]byte) error             { return nil }
func (idleConn) deadline(time.Time)             {}
func (idleConn) Close() error                   { return nil }

// signalConn tells when a message has been written.
type signalConn struct {
	idleConn
	written chan<- struct{}
}

func (c signalConn) tryWrite(p []byte) (int, error) {
	select {
	case c.written <- struct{}{}:
	default: // a close frame, when nobody listens any more
	}
	return len(p), nil
}

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
