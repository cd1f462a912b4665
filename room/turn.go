package room

import (
	"bytes"
	"time"
)

// task is what a member has to do in its turn.
type task int

const (
	nothing task = iota
	write
	writeClose
	closeConnection
)

// turn lets a worker do one thing for the member: write one frame, or take the next step of its end. It reports the
// lane in whose ready queue the worker must put the member for its next turn, if it needs one.
func (m *Member) turn(lane Lane, w *worker) (next Lane, again bool) {
	switch m.begin(lane, w) {
	case writeClose:
		m.sayGoodbye()
	case closeConnection:
		m.closeConn()
	case write:
		return m.write(w)
	case nothing:
	}
	return 0, false
}

// begin decides what a turn is for. For a write it takes what is to be written.
func (m *Member) begin(lane Lane, w *worker) task {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queued[lane] = false
	switch {
	case m.busy: // the goroutine that writes looks for more afterwards
		return nothing
	case m.on(turned):
		if m.state == farewell {
			return writeClose
		}
		return closeConnection
	case m.state > closing:
		return nothing
	}
	w.batch = m.lanes.take(w.batch[:0])
	w.ping, w.control = m.ping, m.control
	m.ping, m.control, m.busy = false, nil, true
	return write
}

// write writes what begin has taken.
func (m *Member) write(w *worker) (next Lane, again bool) {
	wire, frames := w.assemble(), min(1, len(w.batch))
	clear(w.batch) // keeps no message alive
	if len(wire) == 0 {
		return m.wrote(0, nil)
	}
	n, err := m.conn.tryWrite(wire)
	if err == nil && n < len(wire) {
		m.writeLater(bytes.Clone(wire[n:]), func(err error) {
			if lane, again := m.wrote(frames, err); again {
				m.lobby.workers.ready(lane, listOf(lane, m))
			}
		})
		return 0, false
	}
	return m.wrote(frames, err)
}

// assemble makes the bytes of a turn: control frames, and one frame with the messages of the batch. They are good
// until the worker's next turn.
func (w *worker) assemble() []byte {
	if len(w.batch) == 1 && w.batch[0].header > 0 && !w.ping && w.control == nil {
		return w.batch[0].bytes
	}
	if cap(w.wire) > keptBuffer {
		w.wire = nil
	}
	w.wire = w.wire[:0]
	if w.ping {
		w.wire = append(w.wire, pingFrame...)
	}
	w.wire = append(w.wire, w.control...)
	if len(w.batch) > 0 {
		w.wire = appendMessages(w.wire, w.batch)
	}
	return w.wire
}

// wrote ends a turn: all is written, or the connection is broken.
func (m *Member) wrote(frames int, err error) (next Lane, again bool) {
	if err == nil {
		m.lobby.metrics.frames.Add(float64(frames))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	if err != nil {
		return Results, m.writeFailed(err)
	}
	return m.more()
}

// more finds what is left to do after a turn. It needs m.mu.
func (m *Member) more() (next Lane, again bool) {
	switch {
	case m.state == closing, m.lanes[Results].n > 0, m.ping, m.control != nil:
		return Results, m.enqueue(Results)
	case m.lanes[Rain].n > 0:
		return Rain, m.enqueue(Rain)
	}
	return Results, m.on(flushed) && m.enqueue(Results)
}

// enqueue marks the member as standing in a lane's ready queue, and reports whether the caller must put it there.
// While a goroutine writes the member stays out: that goroutine looks for more afterwards. It needs m.mu.
func (m *Member) enqueue(lane Lane) bool {
	if m.queued[lane] || m.busy {
		return false
	}
	m.queued[lane] = true
	return true
}

// writeLater writes what the connection did not take at once, in a goroutine that waits for the peer, and then calls
// then.
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

// writeDeadline is until when a peer is waited for that does not read. It needs m.mu.
func (m *Member) writeDeadline() time.Time {
	now := time.Now()
	switch {
	case m.state == open:
		return now.Add(m.lobby.o.WriteTimeout)
	case m.state == draining:
		return m.deadline
	case m.peerGone && m.control == nil:
		return now // nobody is left to be told
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
