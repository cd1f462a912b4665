package room

import (
	"testing"
	"testing/synctest"
	"time"
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
		if (ways == 0) != (from == closed) {
			t.Errorf("from state %d there are %d ways on", from, ways)
		}
	}
}

// A newcomer's silence counts from its coming, however long the lobby has been there.
func TestANewcomerIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		pass(2 * l.o.PongWait)
		closed := make(chan int, 1)
		from := time.Now()
		l.newMember(idleConn{}, func(code int) { closed <- code })
		if code := <-closed; code != CodeNoPong || time.Since(from) < l.o.PongWait {
			t.Errorf("a newcomer was closed with %d after %v, want %v of silence", code, time.Since(from), l.o.PongWait)
		}
	})
}
