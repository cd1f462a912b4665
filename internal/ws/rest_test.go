package ws

import (
	"net"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestHalfAFrame: the rest of a frame has a deadline, which ends when the rest has come. It never replaces a deadline
// of another owner.
func TestHalfAFrame(t *testing.T) {
	h := &heard{}
	client := connect(t, h)
	clock := &deadlines{Conn: h.below.Conn}
	c := &Conn{Conn: clock}
	steps := []struct {
		partial bool
		set     int // deadlines so far
		armed   bool
	}{{false, 0, false}, {true, 1, true}, {true, 1, true}, {false, 2, false}, {true, 3, true}}
	for i, step := range steps {
		testenv.Must(t, c.awaitRest(step.partial))
		if clock.set != step.set || clock.last.IsZero() == step.armed {
			t.Errorf("step %d: %d deadlines, the last %s", i, clock.set, clock.last)
		}
	}
	if wait := time.Until(clock.last); wait > restWithin {
		t.Errorf("the rest has %s", wait)
	}
	testenv.Must(t, c.SetReadDeadline(time.Unix(1, 0)))
	for _, partial := range []bool{false, true} {
		if err := c.awaitRest(partial); err != nil || !clock.last.Equal(time.Unix(1, 0)) {
			t.Errorf("another's deadline has become %s, %v", clock.last, err)
		}
	}
	_ = client.Close()
	testenv.WantFail(t, <-h.ended, "reading")
}

// deadlines counts those that are set.
type deadlines struct {
	net.Conn

	set  int
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set, d.last = d.set+1, t
	return nil
}
