package room

import "time"

// closeTimeout is the time that the close frame may wait for a peer that does not read.
const closeTimeout = 500 * time.Millisecond

// writeLater writes the rest that the connection did not take at once, in a goroutine that waits for the peer. Then
// it calls then.
func (m *Member) writeLater(rest []byte, then func(err error)) {
	m.setWaiting(true)
	m.lobby.workers.await(m, func() {
		err := m.conn.write(rest)
		m.setWaiting(false)
		then(err)
	})
}

func (m *Member) setWaiting(waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = waiting
	until := time.Time{}
	if waiting {
		until = m.writeDeadline()
	}
	m.conn.deadline(until)
}

// writeDeadline returns the end of the wait for a peer that does not read. It needs m.mu.
func (m *Member) writeDeadline() time.Time {
	now := time.Now()
	switch {
	case m.state == open:
		return now.Add(m.lobby.o.WriteTimeout)
	case m.state == draining:
		return m.deadline
	case m.peerGone && m.control == nil:
		return now // the peer cannot be notified any more
	default:
		return now.Add(closeTimeout)
	}
}

// shortenWait shortens the wait for a peer when the member is to be closed. It needs m.mu.
func (m *Member) shortenWait() {
	if m.waiting && m.state >= closing {
		m.conn.deadline(m.writeDeadline())
	}
}
