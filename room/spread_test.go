package room

import (
	"runtime"
	"testing"

	"redrain/internal/testenv"
)

// The members of a room are spread evenly over its segments, so that a broadcast keeps all processors busy.
func TestMembersAreSpreadEvenly(t *testing.T) {
	l := NewLobby(Options{})
	const each = 10
	for range each * runtime.GOMAXPROCS(0) {
		l.Join("c", "u", l.newMember(idleConn{}, nil))
	}
	for i := range l.Room("c").segments {
		testenv.Equal(t, len(l.Room("c").segments[i].members), each, "members of segment %d", i)
	}
}

// A segment keeps its memory until three quarters of its members have left.
func TestASegmentShrinksLate(t *testing.T) {
	s := &segment{members: make([]*Member, 0, 128)}
	for range 128 {
		s.add(&Member{})
	}
	for n := 127; n >= 32; n-- {
		if s.remove(s.members[0]); cap(s.members) != 128 {
			t.Fatalf("with %d members left it has room for %d", n, cap(s.members))
		}
	}
	if s.remove(s.members[0]); cap(s.members) != 64 {
		t.Errorf("with 31 members left it has room for %d", cap(s.members))
	}
}
