package room

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// What is told to a user comes to all of their connections, complete and in order, and to nobody else.
func TestAUserIsToldOnEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		peers := map[string]*peer{}
		for i, user := range []string{"u", "u", "other"} {
			m, p := seatPeer(t, l, nil)
			l.Join(fmt.Sprintf("c%d", i), user, m)
			peers[fmt.Sprintf("%s %d", user, i)] = p
		}
		want := numbered("settled", 0, 30) // more than the rain lane holds
		for _, message := range want {
			testenv.Equal(t, l.ToUser("u", func() []byte { return []byte(message) }), 2, "connections that are told")
		}
		for name, p := range peers {
			p.reads()
			synctest.Wait()
			if got := p.got(); name == "other 2" && len(got) > 0 || name != "other 2" && !slices.Equal(got, want) {
				t.Errorf("%s got %q", name, got)
			}
		}
	})
}

// The library's deadline for writing is the member's business, once there is one.
func TestTheLibrarySetsNoDeadline(t *testing.T) {
	c := &deadlineConn{}
	s := NewSocket(c)
	for want := range 2 {
		if c.set != want || s.SetWriteDeadline(time.Now()) != nil {
			t.Errorf("the deadline was set %d times, want %d", c.set, want)
		}
	}
	s.member.Store(&Member{})
	if err := s.SetWriteDeadline(time.Now()); err != nil || c.set != 2 {
		t.Errorf("the deadline was set %d times, %v; want 2", c.set, err)
	}
}

// deadlineConn counts the deadlines for writing.
type deadlineConn struct {
	net.Conn

	set int
}

func (c *deadlineConn) SetWriteDeadline(time.Time) error { c.set++; return nil }
