package room

import "bytes"

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
	wire, frames := b.assemble(), min(1, len(b.frames))
	clear(b.frames) // keeps no message alive
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

// wrote ends a time slice: all is written, or the connection is broken.
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
