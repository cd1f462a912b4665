package room

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Member is one connection. Its methods may be called by any goroutine, and none of them waits for the connection.
type Member struct {
	lobby   *Lobby
	conn    conn
	onClose func(code int)
	timer   timer        // open: the next ping, or the end of the wait for a pong; lingering: the end of that
	heard   atomic.Int64 // when the peer was last heard, in nanoseconds since Lobby.started

	// Where the member sits; guarded by Lobby.mu.
	room    *Room
	user    string
	segment *segment
	place   int        // in the segment; guarded by segment.mu
	sibling [2]*Member // other connections of the user, before and after this one

	next [laneCount]*Member // the next in the lane's ready queue; owned by the owner of the queue

	mu    sync.Mutex
	state state // changed by Member.on alone
	lanes lanes
	ping  bool // a ping is due
	// control is a pong that is due while the member is open or draining; later it is the close frame that the
	// WebSocket library wants to write.
	control  []byte
	queued   [laneCount]bool // the member stands in the lane's ready queue
	busy     bool            // a goroutine writes
	waiting  bool            // and waits for the peer
	peerGone bool            // nobody would read a close frame of ours, or answer it
	deadline time.Time       // draining: when all must have been written
	code     int             // of the close
	reason   string          // of the close
}

// Indices of Member.sibling.
const (
	before = iota
	after
)

// NewMember takes charge of writing to a connection, and of closing it. From here on nobody else may close it; what
// the WebSocket library writes by itself goes through the member. Reading it stays with the caller, who reports
// signs of life with Pong, reads until that fails (also after Close), and then calls Gone.
//
// onClose, if not nil, is called exactly once, when the member has left its room and the close frame has been
// written or given up. Its code is that of Close, or ws.CloseAbnormal where the connection was lost. After Run has
// ended it may be called before NewMember returns.
func (l *Lobby) NewMember(s *Socket, onClose func(code int)) *Member {
	m := l.newMember(s, onClose)
	s.member.Store(m)
	return m
}

func (l *Lobby) newMember(c conn, onClose func(code int)) *Member {
	m := &Member{lobby: l, conn: c, onClose: onClose, state: open}
	m.timer.fn = m.expired
	m.Pong()
	l.metrics.connections.Inc()
	if !l.wheel.schedule(&m.timer, min(rand.N(l.o.PingEvery), l.o.PongWait)) { //nolint:gosec // not a secret
		m.Close(CodeShutdown, "shutdown")
		l.workers.wait() // Run has ended and does not
	}
	return m
}

// Send queues a message in the results lane. A member whose lane is full is closed with CodeSlowConsumer; one that is
// closed, or closing, gets nothing. The payload must not be changed afterwards.
func (m *Member) Send(payload []byte) { m.queue(Results, frame{bytes: payload}) }

// Pong tells that the peer lives: a pong has come, or anything else.
func (m *Member) Pong() { m.heard.Store(int64(time.Since(m.lobby.started))) }

func (m *Member) isOpen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == open
}

// queue queues a frame, and hands the member to the workers if need be.
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
