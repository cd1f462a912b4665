package room

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

func numbered(name string, from, to int) (messages []string) {
	for i := from; i < to; i++ {
		messages = append(messages, fmt.Sprintf("%s %d", name, i))
	}
	return messages
}

// Queued messages go out in one frame, results before the rain. A message alone is a frame as it is.
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
		testenv.Equal(t, p.frames, want, "frames")
		testenv.Equal(t, value(t, l.metrics.frames), 3, "counted frames")
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
		testenv.Equal(t, p.got(), want, "got")
		testenv.Equal(t, value(t, l.metrics.dropped[Rain]), 22, "counted as dropped")
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
		testenv.Equal(t, <-closed, CodeSlowConsumer, "closed with")
		if d := time.Since(from); d > closeTimeout {
			t.Errorf("closing a stalled member took %v", d)
		}
		testenv.Equal(t, l.Members(), 0, "the closed member is still in its room")
		p.reads()
		<-p.done
		testenv.Equal(t, value(t, l.metrics.slow), 1, "counted slow members")
		testenv.Equal(t, value(t, l.metrics.dropped[Results]), 10, "counted results lost")
		testenv.Equal(t, value(t, l.metrics.connections), 0, "counted connections")
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
		testenv.Equal(t, p.lastFrame().code, CodeSlowConsumer, "the peer received")
	})
}

func TestStalledWriteClosesTheMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		closed := make(chan int, 2)
		m, p := seatPeer(t, l, func(code int) { closed <- code })
		from := time.Now()
		m.Send([]byte("never read"))
		testenv.Equal(t, <-closed, CodeSlowConsumer, "closed with")
		testenv.Equal(t, time.Since(from), 5*time.Second, "closed after")
		p.reads()
		<-p.done // the connection is closed
		testenv.Equal(t, value(t, l.metrics.slow), 1, "counted slow members")
	})
}
