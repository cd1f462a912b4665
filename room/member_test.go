package room

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func numbered(name string, from, to int) (messages []string) {
	for i := from; i < to; i++ {
		messages = append(messages, fmt.Sprintf("%s %d", name, i))
	}
	return messages
}

// What has queued up goes out in one frame, results before the rain; a message alone is a frame as it is.
func TestQueuedMessagesShareAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		l.Join("c", "u", m)
		m.Send([]byte("first"))
		synctest.Wait() // its write has begun, and blocks
		l.Room("c").Broadcast(Rain, []byte("wave 1"))
		m.Send([]byte("second"))
		l.Room("c").Broadcast(Rain, []byte("wave 2"))
		l.Room("c").Broadcast(Results, []byte("third"))
		p.reads()
		synctest.Wait()
		l.Room("c").Broadcast(Rain, []byte("wave 3"))
		synctest.Wait()
		want := []string{"first", "second\nthird\nwave 1\nwave 2", "wave 3"}
		if !slices.Equal(p.frames, want) {
			t.Errorf("frames %q, want %q", p.frames, want)
		}
		if n := value(t, l.metrics.frames); n != 3 {
			t.Errorf("counted %v frames, want 3", n)
		}
	})
}

func TestRainDropsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := runningWith(t, Options{ResultsMax: 1}) // a limit of the other lane
		m, p := seatPeer(t, l, nil)
		l.Join("c", "u", m)
		for _, w := range numbered("wave", 0, 31) {
			l.Room("c").Broadcast(Rain, []byte(w))
			synctest.Wait()
		}
		p.reads()
		synctest.Wait()
		want := append(numbered("wave", 0, 1), numbered("wave", 31-8, 31)...) // the first was already being written
		if got := p.got(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := value(t, l.metrics.dropped[Rain]); n != 22 {
			t.Errorf("counted %v dropped, want 22", n)
		}
		if !m.isOpen() {
			t.Error("a member was closed because of its rain lane")
		}
	})
}

func TestFullResultsLaneClosesTheMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := runningWith(t, Options{ResultsMax: 10})
		closed := make(chan int, 2)
		m, p := seatPeer(t, l, func(code int) { closed <- code })
		l.Join("c", "u", m)
		from := time.Now()
		for _, r := range numbered("result", 0, 11) { // one is being written, ten wait
			m.Send([]byte(r))
			synctest.Wait()
		}
		if !m.isOpen() {
			t.Fatal("closed although the lane has room")
		}
		l.Room("c").Broadcast(Results, []byte("one too many"))
		if code := <-closed; code != CodeSlowConsumer {
			t.Errorf("closed with %d, want %d", code, CodeSlowConsumer)
		}
		if d := time.Since(from); d > closeTimeout {
			t.Errorf("closing a stalled member took %v", d)
		}
		if l.Members() != 0 {
			t.Error("the closed member is still in its room")
		}
		p.reads()
		<-p.done
		if n := value(t, l.metrics.slow); n != 1 {
			t.Errorf("counted %v slow members, want 1", n)
		}
		if n := value(t, l.metrics.dropped[Results]); n != 10 {
			t.Errorf("counted %v results lost, want 10", n)
		}
		if n := value(t, l.metrics.connections); n != 0 {
			t.Errorf("counted %v connections, want 0", n)
		}
	})
}

// A slow member that begins to read again in the last moment learns why it is closed.
func TestSlowMemberIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := runningWith(t, Options{ResultsMax: 1})
		m, p := seatPeer(t, l, nil)
		for range 3 {
			m.Send([]byte("result"))
			synctest.Wait()
		}
		p.reads()
		if code, reason := p.closeCode(); code != CodeSlowConsumer {
			t.Errorf("the peer was told %d %q", code, reason)
		}
	})
}

func TestStalledWriteClosesTheMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		closed := make(chan int, 2)
		m, p := seatPeer(t, l, func(code int) { closed <- code })
		from := time.Now()
		m.Send([]byte("never read"))
		if code := <-closed; code != CodeSlowConsumer {
			t.Errorf("closed with %d, want %d", code, CodeSlowConsumer)
		}
		if d := time.Since(from); d != 5*time.Second {
			t.Errorf("closed after %v, want 5 s", d)
		}
		p.reads()
		<-p.done // the connection is closed
		if n := value(t, l.metrics.slow); n != 1 {
			t.Errorf("counted %v slow members, want 1", n)
		}
	})
}
