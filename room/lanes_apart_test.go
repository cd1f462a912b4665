package room

import (
	"testing"
	"testing/synctest"

	"redrain/internal/ws"
)

// A pong that was due does not keep the waves that follow from being written.
func TestWavesFollowAPong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		l.Join("c", "u", m)
		p.reads()
		socket := socketOfMember(t, m)
		pong := append(ws.AppendHeader(nil, ws.OpPong, 4), "pong"...)
		if n, err := socket.Write(pong); n != len(pong) || err != nil {
			t.Errorf("the library is told that %d of %d bytes were written, %v", n, len(pong), err)
		}
		synctest.Wait()
		l.Room("c").Broadcast(Rain, []byte("wave"))
		synctest.Wait()
		if got := p.got(); len(got) != 1 || got[0] != "wave" {
			t.Errorf("got %q", got)
		}
	})
}

// Only the results lane closes a member that is full, however little it holds.
func TestManyWavesCloseNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := runningWith(t, Options{ResultsMax: 1, RainMax: 8})
		m, _ := seatPeer(t, l, nil)
		l.Join("c", "u", m)
		for range 6 {
			l.Room("c").Broadcast(Rain, []byte("wave"))
			synctest.Wait()
		}
		if !m.isOpen() {
			t.Error("a member was closed because of its rain lane")
		}
	})
}
