package room

import (
	"errors"
	"maps"
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"redrain/internal/testenv"
)

// lobbyModel has the expected seats of all members.
type lobbyModel struct {
	lobby   *Lobby
	members []*Member
	seats   map[*Member]seatModel
	served  map[string]bool // the rooms between OnOpen and OnEmpty
	fault   string
}

type seatModel struct {
	campaign, user string
	watches        bool
}

func newLobbyModel() *lobbyModel {
	s := &lobbyModel{seats: map[*Member]seatModel{}, served: map[string]bool{}}
	s.lobby = NewLobby(Options{
		Guest: func(user string) bool { return user == "u3" },
		OnOpen: func(r *Room) {
			c := r.campaign
			if s.served[c] {
				s.fault = c + " was opened twice"
			}
			s.served[c] = true
		},
		OnEmpty: func(r *Room) {
			c := r.campaign
			if !s.served[c] {
				s.fault = c + " was emptied before it was opened"
			}
			delete(s.served, c)
		},
	})
	return s
}

func (s *lobbyModel) enter(*rapid.T) {
	s.members = append(s.members, s.lobby.newMember(idleConn{}, nil))
}

func (s *lobbyModel) one(t *rapid.T) *Member {
	if len(s.members) == 0 {
		t.Skip("nobody is here")
	}
	return rapid.SampledFrom(s.members).Draw(t, "member")
}

func (s *lobbyModel) join(t *rapid.T) {
	m := s.one(t)
	seat := seatModel{
		campaign: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "campaign"),
		user:     rapid.SampledFrom([]string{"u1", "u2", "u3"}).Draw(t, "user"),
	}
	if seat.watches = rapid.Bool().Draw(t, "watches"); seat.watches {
		s.lobby.Watch(seat.campaign, seat.user, m)
	} else {
		s.lobby.Join(seat.campaign, seat.user, m)
	}
	if m.isOpen() {
		s.seats[m] = seat
	}
}

func (s *lobbyModel) leave(t *rapid.T) {
	m := s.one(t)
	s.lobby.Leave(m)
	delete(s.seats, m)
}

func (s *lobbyModel) close(t *rapid.T) {
	m := s.one(t)
	m.Close(CodeUnavailable, "")
	s.lobby.workers.wait()
	delete(s.seats, m)
}

func (s *lobbyModel) check(t *rapid.T) {
	rooms, play, users, guests := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, seat := range s.seats {
		rooms[seat.campaign]++
		users[seat.user]++
		if seat.watches {
			continue
		}
		if play[seat.campaign]++; seat.user == "u3" {
			guests[seat.campaign]++
		}
	}
	members := map[string]int{}
	for _, r := range s.lobby.Rooms() {
		members[r.Campaign()] = r.Members()
		if r.Online() != play[r.Campaign()] || r.Guests() != guests[r.Campaign()] {
			t.Fatalf("%s has %d online and %d guests, want %d and %d", r.Campaign(), r.Online(), r.Guests(),
				play[r.Campaign()], guests[r.Campaign()])
		}
		s.checkSegments(t, r)
	}
	if !maps.Equal(members, rooms) || s.lobby.Members() != len(s.seats) {
		t.Fatalf("rooms %v with %d online, want %v with %d", members, s.lobby.Members(), rooms, len(s.seats))
	}
	if s.fault != "" || len(s.served) != len(rooms) {
		t.Fatalf("OnOpen and OnEmpty leave %v, want %v; %s", s.served, rooms, s.fault)
	}
	for _, user := range []string{"u1", "u2", "u3"} {
		encoded, n := 0, len(s.lobby.connections(user, nil))
		s.lobby.ToUser(user, func() []byte { encoded++; return []byte("settled") })
		if n != users[user] || encoded != min(n, 1) {
			t.Fatalf("%s has %d connections, want %d; %d messages were encoded", user, n, users[user], encoded)
		}
	}
	s.lobby.workers.wait()
}

func (s *lobbyModel) checkSegments(t *rapid.T, r *Room) {
	n := 0
	for i := range r.segments {
		for place, m := range r.segments[i].members {
			if n++; m.place != place || m.seat.segment != i || s.seats[m].campaign != r.campaign {
				t.Fatalf("a member sits in the wrong place of %s", r.campaign)
			}
		}
	}
	if n != r.Members() {
		t.Fatalf("%s has %d members in its segments and %d in all", r.campaign, n, r.Members())
	}
}

func TestEverybodySitsWhereTheyShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newLobbyModel()
		t.Repeat(map[string]func(*rapid.T){
			"enter": s.enter, "join": s.join, "move": s.join, "leave": s.leave, "close": s.close, "": s.check,
		})
		for _, m := range s.members {
			m.Close(CodeShutdown, "")
		}
		s.lobby.workers.wait()
	})
}

func TestMovingEndsOneRoomAndOpensAnother(t *testing.T) {
	var calls []string
	l := NewLobby(Options{
		OnOpen:  func(r *Room) { calls = append(calls, "open "+r.campaign) },
		OnEmpty: func(r *Room) { calls = append(calls, "empty "+r.campaign) },
	})
	a, b := l.newMember(idleConn{}, nil), l.newMember(idleConn{}, nil)
	l.Join("x", "a", a)
	old := l.Room("x")
	l.Join("x", "b", b)
	l.Join("y", "a", a)
	l.Join("y", "a", a)
	l.Leave(b)
	l.Leave(b)
	l.Join("x", "b", b)
	if old == l.Room("x") || old.Online() != 0 {
		t.Error("an emptied room was opened again")
	}
	old.Broadcast(Rain, []byte("nobody is there")) // must not fail
	l.Leave(a)
	want := "open x, open y, empty x, open x, empty y"
	testenv.Equal(t, strings.Join(calls, ", "), want, "the callbacks came as")
}

// A panic leaves no lock behind: the lobby's others go on joining and leaving.
func TestAPanicHoldsNoLock(t *testing.T) {
	l := NewLobby(Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a nil member leaves, and nothing happens")
			}
		}()
		l.Leave(nil)
	}()
	if !l.mu.TryLock() || !l.seating.TryLock() {
		t.Error("a lock is held")
	}
}

// value is the value of a counter or gauge.
func value(t *testing.T, c prometheus.Collector) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 {
		t.Fatalf("not one metric: %v (%v)", families, err)
	}
	m := families[0].GetMetric()[0]
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func TestMetricsHaveTheContractsNames(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewLobby(Options{Registerer: reg})
	families := testenv.Got(reg.Gather()).Must(t)
	var names []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				name += "," + label.GetName() + "=" + label.GetValue()
			}
			names = append(names, name)
		}
	}
	want := []string{
		"redrain_connections", "redrain_fanout_dropped_total,lane=rain", "redrain_fanout_dropped_total,lane=results",
		"redrain_fanout_frames_total", "redrain_slow_disconnects_total",
	}
	testenv.Equal(t, names, want, "metrics")
}

// The system gives the descriptor of a closed connection to the next one, which a member of the closed one must never
// write to.
func TestWhoIsClosedWritesToNobodyElse(t *testing.T) {
	t.Parallel()
	listener := testenv.Got((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")).Must(t)
	defer listener.Close() //nolint:errcheck // only the connections matter
	connect := func() (*Socket, net.Conn) {
		far := testenv.Got((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())).Must(t)
		near := testenv.Got(listener.Accept()).Must(t)
		return NewSocket(near), far
	}
	gone, far := connect()
	if n, err := gone.tryWrite([]byte("hello")); n != 5 || err != nil {
		t.Fatalf("wrote %d bytes, %v", n, err)
	}
	testenv.Must(t, errors.Join(gone.Close(), far.Close()))
	for range 4 { // one of them has the descriptor
		next, far := connect()
		if n, err := gone.tryWrite([]byte("not for you")); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		if n, err := next.tryWrite([]byte("yours")); n != 5 || err != nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		got := make([]byte, 64)
		if n, err := far.Read(got); string(got[:n]) != "yours" || err != nil {
			t.Errorf("%q came, %v", got[:n], err)
		}
		t.Cleanup(func() { _ = errors.Join(next.Close(), far.Close()) })
	}
}
