package room

import (
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// From every state each event leads to a state that is later in the member's life, or nowhere; and every state but
// the last has a way on.
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
