package room

import (
	"sync"
	"time"
)

const (
	// newsStep is the interval at which waiting news is looked at.
	newsStep = 100 * time.Millisecond
	// newsQuiet is the time for which news waits for more. If nothing else happens, news is delivered so much later.
	newsQuiet = 2 * newsStep
	// newsMax is the longest time that news waits. Each player of a rain gets the room's figures every second, so
	// most news goes with those by then.
	newsMax = 15 * newsStep
	// heldMax is the most news that waits for one member.
	heldMax = 16
)

// news tracks the members whose messages wait for a frame to go with. When tens of thousands of wins are settled,
// each has a message to another member. A frame for each would cost more than all other notifications.
type news struct {
	workers *workers
	started time.Time

	mu      sync.Mutex
	waiting []waiter      // the oldest first
	latest  time.Duration // when the newest news came, also for members that waited already; from started
}

// waiter is a member whose news has waited since then. The list may still have members whose messages went with
// another frame.
type waiter struct {
	member *Member
	since  time.Duration // from news.started
}

// ToUserLater is ToUser for a message that is not urgent: it goes with the next other message to the member. It goes
// alone after 0.2 s without news for any member, and after 1.6 s at the latest. Messages to a member keep their order,
// whichever method sends them.
func (l *Lobby) ToUserLater(user string, encode func() []byte) {
	l.toUser(user, encode, l.news.hold)
}

// hold queues a frame for a member, to go with the next one.
func (n *news) hold(m *Member, f frame) {
	since := time.Since(n.started)
	ready, held := m.hold(f, since)
	if ready {
		n.workers.ready(Results, listOf(Results, m))
	}
	if n.add(waiter{member: m, since: since}, held) {
		n.flushIn(newsQuiet)
	}
}

// add records a member with news. It reports whether no member was waiting before.
func (n *news) add(w waiter, held bool) (first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latest = w.since
	if held {
		n.waiting = append(n.waiting, w)
	}
	return held && len(n.waiting) == 1
}

// flushIn waits for d, releases due news, and repeats each newsStep while news waits.
func (n *news) flushIn(d time.Duration) {
	time.AfterFunc(d, func() {
		n.workers.recoverer.Do("room", func() {
			due, more := n.due(time.Since(n.started))
			n.release(due)
			if more {
				n.flushIn(newsStep)
			}
		})
	})
}

// due removes the members that have waited for long enough from the list: all of them, if there was no news lately.
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
			ready.add(w.member)
		}
	}
	ready.flush()
}

// hold queues a frame without asking for a time slice, unless too many wait already. It reports whether the caller
// must put the member in the ready queue of the results lane. The result held means that the caller must release the
// frame later.
func (m *Member) hold(f frame, since time.Duration) (ready, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &m.lanes[Results]
	switch {
	case m.state != open:
		return false, false
	case q.n >= m.lobby.o.ResultsMax:
		return m.slow(), false
	}
	q.push(f)
	switch {
	case m.held && q.n < heldMax, m.busy, m.queued[Results], m.queued[Rain]:
		return false, false // it goes with the waiting messages
	case q.n >= heldMax:
		return m.enqueue(Results), false
	}
	m.held, m.heldSince = true, since
	return false, true
}

// release asks for a time slice if the news of that time is still held. It reports whether the caller must put the
// member in the ready queue of the results lane.
func (m *Member) release(since time.Duration) (ready bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held && m.heldSince == since && m.enqueue(Results)
}
