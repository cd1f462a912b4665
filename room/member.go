package room

import (
	"sync"
	"sync/atomic"
	"time"
)

// Member is one connection. Its methods are safe for concurrent use, and none of them waits for the connection.
type Member struct {
	lobby    *Lobby
	conn     conn
	onClose  func(code int)
	timer    *time.Timer  // the next ping, or the end of a wait for a pong; lingering: its end
	lastPong atomic.Int64 // the peer's last sign of life, in nanoseconds since Lobby.started

	seat  seat // guarded by Lobby.mu
	place int  // in the segment; guarded by segment.mu
	// the next in the lane's ready queue; guarded by workers.mu, or owned by the handover that collects the member
	next [laneCount]*Member

	mu    sync.Mutex
	state state // changed by Member.on alone
	lanes lanes
	ping  bool // a ping is due
	// control is an unwritten frame of gorilla: while open or draining a pong, later the close frame.
	control   []byte
	queued    [laneCount]bool // the member stands in the lane's ready queue
	held      bool            // the results lane has news that waits for another frame (news.go)
	busy      bool            // a goroutine writes
	waiting   bool            // the goroutine waits for the peer
	peerGone  bool            // the peer can neither read nor answer a close frame
	heldSince time.Duration   // held: the time that news.hold has noted
	deadline  time.Time       // draining: time by which all must be written
	code      int             // of the close
	reason    string          // of the close
}

// seat is a member's membership in a room.
type seat struct {
	campaign string // of the room; "" if the member is in none
	user     string
	watches  bool       // watches only, and does not play
	segment  int        // of the room
	sibling  [2]*Member // other connections of the user, before and after this one
}

// Indices of seat.sibling.
const (
	before = iota
	after
)

// conn is a member's view of a connection. A Socket implements it.
type conn interface {
	// tryWrite writes as much as the connection takes at once, and never waits. Fewer bytes than given are no error.
	tryWrite(p []byte) (n int, err error)
	// write writes all, and waits for the peer until the deadline. It is not safe for concurrent use.
	write(p []byte) error
	// deadline sets the end of write's wait, also of a write that waits already; zero: no deadline.
	deadline(t time.Time)
	Close() error
}

// Send queues a message in the results lane. A member whose lane is full is closed with CodeSlowConsumer. A closed or
// closing member gets nothing. The payload must not be changed afterwards.
func (m *Member) Send(payload []byte) { m.queue(Results, frame{bytes: payload}) }

// Pong records a sign of life of the peer: a pong, or any other message.
func (m *Member) Pong() { m.PongAt(time.Now()) }

// PongAt is Pong for callers that have the current time.
func (m *Member) PongAt(now time.Time) { m.lastPong.Store(int64(now.Sub(m.lobby.started))) }

func (m *Member) isOpen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == open
}

// queue queues a frame, and hands the member to the workers if they do not have it.
func (m *Member) queue(lane Lane, f frame) {
	if m.push(lane, f) {
		m.lobby.workers.ready(lane, listOf(lane, m))
	}
}

// push queues a frame. It reports whether the caller must put the member in the lane's ready queue.
func (m *Member) push(lane Lane, f frame) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != open {
		return false
	}
	q, o := &m.lanes[lane], &m.lobby.o
	switch {
	case lane == Rain && q.n >= o.RainMax:
		q.pop()
		m.lobby.metrics.dropped[Rain].Inc()
	case lane == Results && q.n >= o.ResultsMax:
		return m.slow()
	}
	q.push(f)
	return m.enqueue(lane)
}

// do runs f with m.mu held. If f reports that the member is ready, the workers get it.
func (m *Member) do(f func() (ready bool)) {
	m.mu.Lock()
	ready := func() bool { defer m.mu.Unlock(); return f() }()
	if ready {
		m.lobby.workers.ready(Results, listOf(Results, m))
	}
}

// enqueue marks the member as standing in a lane's ready queue, and reports whether the caller must put it there.
// While a goroutine writes, the member stays out: that goroutine checks for more afterwards. It needs m.mu.
func (m *Member) enqueue(lane Lane) bool {
	if m.queued[lane] || m.busy {
		return false
	}
	m.queued[lane] = true
	return true
}

// Bundle gathers results for many members. All of them are handed to the workers at once, and their lock is taken
// once for many messages. The zero Bundle is empty and ready to use. It is not safe for concurrent use.
type Bundle struct {
	parcels []parcel
}

// parcel is a message and its recipient.
type parcel struct {
	to      *Member
	payload []byte
}

// keptParcels is the number of parcels for which an empty bundle keeps memory.
const keptParcels = 4096

// Add puts a message in the bundle; Lobby.Deliver sends it. The payload must not be changed afterwards. It may be a
// part of a larger slice, which stays in memory while any part of it is queued.
func (b *Bundle) Add(to *Member, payload []byte) {
	b.parcels = append(b.parcels, parcel{to: to, payload: payload})
}

// Deliver calls Member.Send for each message of a bundle, in the order of the calls of Add. It empties the bundle,
// which may be used again. The members must be this lobby's.
func (l *Lobby) Deliver(b *Bundle) {
	ready := handover{lane: Results, to: l.workers}
	for i := range b.parcels {
		if to := b.parcels[i].to; to.push(Results, frame{bytes: b.parcels[i].payload}) {
			ready.add(to)
		}
	}
	ready.flush()
	clear(b.parcels) // keeps no message alive
	b.parcels = b.parcels[:0]
	if cap(b.parcels) > keptParcels {
		b.parcels = nil
	}
}
