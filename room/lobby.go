package room

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Lobby holds all rooms and members of this node. It writes for the members.
type Lobby struct {
	o       Options
	metrics *metrics
	workers *workers
	news    *news
	started time.Time // origin of Member.lastPong

	keeping sync.Mutex
	isOver  bool                 // Run has ended, or is ending
	alive   map[*Member]struct{} // members that are not closed

	seating sync.Mutex // one Join or Leave at a time, with its callbacks

	mu    sync.RWMutex // guards the maps, and the seat of each member
	rooms map[string]*Room
	users map[string]*Member // the first of each user's connections in any room; seat.sibling leads to the others
}

// NewLobby returns a lobby without members. Its Run must be started.
func NewLobby(o Options) *Lobby {
	o = o.withDefaults()
	l := &Lobby{
		o: o, metrics: newMetrics(o.Registerer), workers: newWorkers(o.Recoverer), started: time.Now(),
		alive: map[*Member]struct{}{}, rooms: map[string]*Room{}, users: map[string]*Member{},
	}
	l.news = &news{workers: l.workers, started: l.started}
	return l
}

// Run waits until ctx ends. Then it closes the remaining members with CodeShutdown. It returns nil when the last of
// them is closed and the last write has ended. A member made later is closed at once.
func (l *Lobby) Run(ctx context.Context) error {
	<-ctx.Done()
	for _, m := range l.over() {
		l.o.Recoverer.Do("room", m.expired) // the timers are stopped: this closes each member
	}
	l.workers.wait()
	return nil
}

// over ends all timers from now on, and returns the members.
func (l *Lobby) over() []*Member {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	l.isOver = true
	return slices.Collect(maps.Keys(l.alive))
}

// keep adds a member. It returns false when Run has ended.
func (l *Lobby) keep(m *Member) bool {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	l.alive[m] = struct{}{}
	return !l.isOver
}

func (l *Lobby) drop(m *Member) {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	delete(l.alive, m)
}

// NewMember takes charge of writing to a connection, and of closing it. The caller must not close it any more. The
// frames that the WebSocket library writes go through the member. Reading stays with the caller, who reports signs of
// life with Pong, reads until that fails (also after Close), and then calls Gone.
func (l *Lobby) NewMember(s *Socket) *Member {
	m := l.newMember(s, nil)
	s.member.Store(m)
	return m
}

// newMember makes a member. onClose, if not nil, is called exactly once, when the member has left its room and the
// close frame has been written or abandoned. Its code is that of Close, or ws.CloseAbnormal if the connection was lost.
// After Run has ended it may be called before newMember returns.
func (l *Lobby) newMember(c conn, onClose func(code int)) *Member {
	m := &Member{lobby: l, conn: c, onClose: onClose, state: open}
	m.Pong()
	l.metrics.connections.Inc()
	first := min(rand.N(l.o.PingEvery), l.o.PongWait) //nolint:gosec // not a secret
	m.mu.Lock()
	m.timer = time.AfterFunc(first, func() { l.o.Recoverer.Do("room", m.expired) })
	m.mu.Unlock()
	if !l.keep(m) {
		m.Close(CodeShutdown, "shutdown")
		l.workers.wait() // Run has ended and does not
	}
	return m
}

// Join seats a member in a campaign's room, as a connection of the user. It moves a member from another room. A
// closed or closing member is not seated.
func (l *Lobby) Join(campaign, user string, m *Member) {
	l.enter(m, seat{campaign: campaign, user: user})
}

// Watch is Join for a connection that only watches, such as a big screen. It receives all messages of the room and
// the user, and is not counted as a player.
func (l *Lobby) Watch(campaign, user string, m *Member) {
	l.enter(m, seat{campaign: campaign, user: user, watches: true})
}

func (l *Lobby) enter(m *Member, to seat) {
	l.seating.Lock()
	defer l.seating.Unlock()
	if m.isOpen() { // the closer of a closing member has called Leave, or waits for seating to call it
		l.move(m, to)
	}
}

// Leave takes a member out of its room, if it sits in one. The connection stays open.
func (l *Lobby) Leave(m *Member) {
	l.seating.Lock()
	defer l.seating.Unlock()
	l.move(m, seat{})
}

// move needs l.seating.
func (l *Lobby) move(m *Member, to seat) {
	emptied, opened := l.reseat(m, to)
	if emptied != nil {
		l.o.OnEmpty(emptied)
	}
	if opened != nil {
		l.o.OnOpen(opened)
	}
}

// reseat gives a member another seat, or none if its campaign is "". It returns the rooms that are empty now, and no
// longer in l.rooms, or new there.
func (l *Lobby) reseat(m *Member, to seat) (emptied, opened *Room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.seat.campaign == to.campaign && m.seat.user == to.user && m.seat.watches == to.watches {
		return nil, nil
	}
	emptied = l.unseat(m)
	if to.campaign == "" {
		return emptied, nil
	}
	r := l.rooms[to.campaign]
	if r == nil {
		r = newRoom(l.workers, to.campaign)
		l.rooms[to.campaign], opened = r, r
	}
	to.segment = r.next
	m.seat = to
	r.segments[r.next].add(m)
	r.next = (r.next + 1) % len(r.segments)
	r.members.Add(1)
	l.count(r, to, 1)

	if first := l.users[to.user]; first != nil {
		m.seat.sibling[after] = first
		first.seat.sibling[before] = m
	}
	l.users[to.user] = m
	return emptied, opened
}

// unseat needs l.mu.
func (l *Lobby) unseat(m *Member) (emptied *Room) {
	r := l.rooms[m.seat.campaign]
	if r == nil {
		return nil
	}
	r.segments[m.seat.segment].remove(m)

	prev, next := m.seat.sibling[before], m.seat.sibling[after]
	if next != nil {
		next.seat.sibling[before] = prev
	}
	switch {
	case prev != nil:
		prev.seat.sibling[after] = next
	case next != nil:
		l.users[m.seat.user] = next
	default:
		delete(l.users, m.seat.user)
	}
	l.count(r, m.seat, -1)
	m.seat = seat{}

	if r.members.Add(-1) > 0 {
		return nil
	}
	delete(l.rooms, r.campaign)
	return r
}

// count counts players who join or leave.
func (l *Lobby) count(r *Room, s seat, by int64) {
	if s.watches {
		return
	}
	r.online.Add(by)
	if l.o.Guest(s.user) {
		r.guests.Add(by)
	}
}

// Room returns the room of a campaign, or nil if it is empty.
func (l *Lobby) Room(campaign string) *Room {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.rooms[campaign]
}

// Rooms returns all rooms with members, in no order.
func (l *Lobby) Rooms() []*Room {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Collect(maps.Values(l.rooms))
}

// ToUser sends a message to all of a user's connections in all rooms, in the results lane. The function encode makes
// the message, which must not be changed afterwards. It is called once, without a lock; if the user has no connection,
// it is not called.
func (l *Lobby) ToUser(user string, encode func() []byte) {
	l.toUser(user, encode, func(m *Member, f frame) { m.queue(Results, f) })
}

// toUser hands a message to all of a user's connections.
func (l *Lobby) toUser(user string, encode func() []byte, hand func(*Member, frame)) {
	var few [4]*Member // avoids an allocation in nearly all calls
	members := l.connections(user, few[:0])
	if len(members) == 0 {
		return
	}
	f := frame{bytes: encode()}
	if len(members) > 1 {
		f = sharedFrame(f.bytes)
	}
	for _, m := range members {
		hand(m, f)
	}
}

func (l *Lobby) connections(user string, to []*Member) []*Member {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for m := l.users[user]; m != nil; m = m.seat.sibling[after] {
		to = append(to, m)
	}
	return to
}
