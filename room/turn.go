package room

import (
	"bytes"
	"time"
)

// task is a member's work in a time slice.
type task int

const (
	doNothing task = iota
	writeFrame
	writeClose
	closeConnection
)

// turn does one thing for the member: it writes one frame, or takes the next step of the member's end. If the member
// needs another time slice, turn reports the lane in whose ready queue the worker must put it.
func (m *Member) turn(lane Lane, b *batch) (next Lane, again bool) {
	switch m.begin(lane, b) {
	case writeClose:
		m.sayGoodbye()
	case closeConnection:
		m.closeConn()
	case writeFrame:
		return m.write(b)
	case doNothing:
	}
	return 0, false
}

// begin chooses the task of a time slice. For a write it takes the frames to be written.
func (m *Member) begin(lane Lane, b *batch) task {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queued[lane] = false
	switch {
	case m.busy: // the goroutine that writes checks for more afterwards
		return doNothing
	case m.on(turned):
		if m.state == farewell {
			return writeClose
		}
		return closeConnection
	case m.state > closing:
		return doNothing
	}
	b.frames = m.lanes.take(b.frames[:0])
	b.ping, b.control = m.ping, m.control
	m.ping, m.control, m.busy, m.held = false, nil, true, false
	return writeFrame
}

// write writes the frames that begin has taken.
func (m *Member) write(b *batch) (next Lane, again bool) {
	wire, textFrames := b.assemble(), min(1, len(b.frames)) // the queued messages become at most one text frame
	clear(b.frames)                                         // keeps no message alive
	if len(wire) == 0 {
		return m.wrote(0, nil)
	}
	n, err := m.conn.tryWrite(wire)
	if err == nil && n < len(wire) {
		m.writeLater(bytes.Clone(wire[n:]), func(err error) {
			if lane, again := m.wrote(textFrames, err); again {
				m.lobby.workers.ready(lane, listOf(lane, m))
			}
		})
		return 0, false
	}
	return m.wrote(textFrames, err)
}

// wrote ends a time slice: all is written, or the connection is broken.
func (m *Member) wrote(textFrames int, err error) (next Lane, again bool) {
	if err == nil {
		m.lobby.metrics.frames.Add(float64(textFrames))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	if err != nil {
		return Results, m.writeFailed(err)
	}
	return m.more()
}

// more returns the lane that is left to serve after a time slice. It needs m.mu.
func (m *Member) more() (next Lane, again bool) {
	switch {
	case m.state == closing, m.lanes[Results].n > 0, m.ping, m.control != nil:
		return Results, m.enqueue(Results)
	case m.lanes[Rain].n > 0:
		return Rain, m.enqueue(Rain)
	}
	return Results, m.on(flushed) && m.enqueue(Results)
}

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
