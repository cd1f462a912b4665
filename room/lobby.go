package room

import (
	"context"
	"sync"
	"time"
)

// Lobby is all rooms and members of this node.
type Lobby struct {
	o       Options
	metrics *metrics
	wheel   *wheel
	workers *workers
	started time.Time // what Member.heard counts from

	seating sync.Mutex // one Join or Leave at a time, with its callbacks

	mu     sync.RWMutex // guards the maps, and where each member sits
	rooms  map[string]*Room
	users  map[string]*Member // the first of each user's connections in any room; Member.sibling leads to the others
	seated int
}

// NewLobby returns a lobby without members. Its Run must be started for pings and deadlines to happen.
func NewLobby(o Options) *Lobby {
	o = o.withDefaults()
	return &Lobby{
		o: o, metrics: newMetrics(o.Registerer), wheel: newWheel(o.Guard), workers: newWorkers(o.Guard),
		started: time.Now(),
		rooms:   map[string]*Room{}, users: map[string]*Member{},
	}
}

// Run keeps the pings and deadlines until ctx ends. Then it closes the members that are still there with CodeShutdown,
// and returns nil when the last of them is closed and the last write has ended. A member made later is closed at once.
func (l *Lobby) Run(ctx context.Context) error {
	l.wheel.run(ctx)
	l.wheel.stop() // fires all timers: a member has one, or the workers have the member, or it is closed
	l.workers.wait()
	return nil
}

// Join seats a member in a campaign's room, as a connection of the user. It moves a member that sits in another room. A
// member that is closed, or closing, stays out.
func (l *Lobby) Join(campaign, user string, m *Member) {
	l.seating.Lock()
	defer l.seating.Unlock()
	if !m.isOpen() {
		return // whoever closes the member has taken it out already, or waits for us to do it
	}
	l.mu.Lock()
	if m.room != nil && m.room.campaign == campaign && m.user == user {
		l.mu.Unlock()
		return
	}
	emptied := l.unseat(m)
	r, opened := l.rooms[campaign], false
	if r == nil {
		r, opened = newRoom(l, campaign), true
		l.rooms[campaign] = r
	}
	l.seat(m, r, user)
	l.mu.Unlock()

	if emptied != nil {
		l.o.OnEmpty(emptied)
	}
	if opened {
		l.o.OnOpen(r)
	}
}

// Leave takes a member out of its room, if it sits in one. The connection stays open.
func (l *Lobby) Leave(m *Member) {
	l.seating.Lock()
	defer l.seating.Unlock()
	l.mu.Lock()
	emptied := l.unseat(m)
	l.mu.Unlock()
	if emptied != nil {
		l.o.OnEmpty(emptied)
	}
}

// seat needs l.mu.
func (l *Lobby) seat(m *Member, r *Room, user string) {
	m.room, m.user = r, user
	m.segment = &r.segments[r.next]
	r.next = (r.next + 1) % len(r.segments)
	m.segment.add(m)
	r.online.Add(1)
	l.seated++

	if first := l.users[user]; first != nil {
		m.sibling[after] = first
		first.sibling[before] = m
	}
	l.users[user] = m
}

// unseat needs l.mu. It returns the room if that is empty now, and no longer in l.rooms.
func (l *Lobby) unseat(m *Member) (emptied *Room) {
	r := m.room
	if r == nil {
		return nil
	}
	m.segment.remove(m)
	l.seated--

	prev, next := m.sibling[before], m.sibling[after]
	if next != nil {
		next.sibling[before] = prev
	}
	switch {
	case prev != nil:
		prev.sibling[after] = next
	case next != nil:
		l.users[m.user] = next
	default:
		delete(l.users, m.user)
	}
	m.room, m.segment, m.user, m.sibling = nil, nil, "", [2]*Member{}

	if r.online.Add(-1) > 0 {
		return nil
	}
	delete(l.rooms, r.campaign)
	return r
}

// Room is the room of a campaign, nil if nobody is in it.
func (l *Lobby) Room(campaign string) *Room {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.rooms[campaign]
}

// Rooms are all rooms with somebody in them, in no order.
func (l *Lobby) Rooms() []*Room {
	l.mu.RLock()
	defer l.mu.RUnlock()
	rooms := make([]*Room, 0, len(l.rooms))
	for _, r := range l.rooms {
		rooms = append(rooms, r)
	}
	return rooms
}

// Online is the number of connections in all rooms.
func (l *Lobby) Online() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.seated
}

// Has tells whether a user has a connection in any room.
func (l *Lobby) Has(user string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.users[user] != nil
}

// ToUser sends a message to all of a user's connections, whichever rooms they are in, in the results lane, and
// returns their number. encode makes the message, which must not be changed afterwards; it is called once, without a
// lock, and not at all if the user is not here.
func (l *Lobby) ToUser(user string, encode func() []byte) int {
	var few [4]*Member // without an allocation for nearly everybody
	members := l.connections(user, few[:0])
	if len(members) == 0 {
		return 0
	}
	f := frame{bytes: encode()}
	if len(members) > 1 {
		f = sharedFrame(f.bytes)
	}
	for _, m := range members {
		m.queue(Results, f)
	}
	return len(members)
}

func (l *Lobby) connections(user string, to []*Member) []*Member {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for m := l.users[user]; m != nil; m = m.sibling[after] {
		to = append(to, m)
	}
	return to
}
