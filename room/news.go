package room

import (
	"sync"
	"time"
)

const (
	// newsQuiet is how long news waits for more of it. While nothing else happens it is told so much later.
	newsQuiet = 2 * wheelTick
	// newsMax is how long news waits at most. Each player of a rain gets the room's figures every second, so most
	// news has gone with those by then.
	newsMax = 15 * wheelTick
	// heldMax is how many news wait for one member at most.
	heldMax = 16
)

// news is who has messages that wait for a frame to go with. When tens of thousands of wins are settled, each with a
// message to somebody else, a frame for each would cost more than all else that is done to tell them.
type news struct {
	workers *workers
	wheel   *wheel
	started time.Time
	timer   timer // scheduled while somebody waits

	mu      sync.Mutex
	waiting []waiter      // the oldest first
	latest  time.Duration // when the newest news came, also of those who waited already; from started
}

// waiter is a member whose news has waited since then. News that went meanwhile may still be in the list.
type waiter struct {
	member *Member
	since  time.Duration // from news.started
}

func newNews(to *workers, w *wheel, started time.Time) *news {
	n := &news{workers: to, wheel: w, started: started}
	n.timer.fn = n.look
	return n
}

// Tell does what ToUser does, for a message that has time: it goes with the next other message to the member, or by
// itself when for 0.2 s there has been none for anybody, and after 1.5 s at the latest; the wheel may add two ticks.
// Messages to a member keep their order, whichever way they are sent.
func (l *Lobby) Tell(user string, encode func() []byte) int {
	return l.toUser(user, encode, l.news.hold)
}

// hold queues a frame for a member, to go with the next one.
func (n *news) hold(m *Member, f frame) {
	since := time.Since(n.started)
	ready, held := m.hold(f, since)
	if ready {
		n.workers.ready(Results, listOf(Results, &m.node))
	}
	if n.add(waiter{member: m, since: since}, held) {
		n.wheel.schedule(&n.timer, newsQuiet) // after Run it is not: that has closed all members
	}
}

// add notes that there is news, and who waits with it. It reports whether nobody has waited before.
func (n *news) add(w waiter, held bool) (first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latest = w.since
	if held {
		n.waiting = append(n.waiting, w)
	}
	return held && len(n.waiting) == 1
}

// look lets news go that has waited for long enough.
func (n *news) look() {
	due, more := n.due(time.Since(n.started))
	n.release(due)
	if more {
		n.wheel.schedule(&n.timer, wheelTick)
	}
}

// due takes those out of the list who have waited for long enough: all, where there was no news lately.
func (n *news) due(now time.Duration) (due []waiter, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now-n.latest >= newsQuiet {
		due, n.waiting = n.waiting, nil
		return due, false
	}
	i := 0
	for i < len(n.waiting) && now-n.waiting[i].since >= newsMax {
		i++
	}
	due, n.waiting = n.waiting[:i], n.waiting[i:]
	return due, len(n.waiting) > 0
}

func (n *news) release(due []waiter) {
	ready := handover{lane: Results, to: n.workers}
	for _, w := range due {
		if w.member.release(w.since) {
			ready.add(&w.member.node)
		}
	}
	ready.flush()
}

// hold queues a frame without asking for a turn, unless too many wait already. It reports whether the caller must put
// the member in the ready queue of the results lane, or must see to it that the frame is released.
func (m *Member) hold(f frame, since time.Duration) (ready, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &m.lanes[Results]
	switch {
	case m.state != open:
		return false, false
	case q.n >= m.engine.o.ResultsMax:
		return m.slow(), false
	}
	q.push(f)
	switch {
	case m.held && q.n < heldMax, m.busy, m.queued[Results], m.queued[Rain]:
		return false, false // it goes with what waits
	case q.n >= heldMax:
		return m.enqueue(Results), false
	}
	m.held, m.heldSince = true, since
	return false, true
}

// release asks for a turn if what was held then is held still. It reports whether the caller must put the member in
// the ready queue of the results lane.
func (m *Member) release(since time.Duration) (ready bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held && m.heldSince == since && m.enqueue(Results)
}
