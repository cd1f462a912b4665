package room

import "bytes"

// task is what a member has to do in its turn.
type task int

const (
	doNothing task = iota
	writeFrame
	writeClose
	closeConnection
)

// turn lets a worker do one thing for the member: write one frame, or take the next step of its end. It reports the
// lane in whose ready queue the worker must put the member for its next turn, if it needs one.
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

// begin decides what a turn is for. For a write it takes what is to be written.
func (m *Member) begin(lane Lane, b *batch) task {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queued[lane] = false
	switch {
	case m.busy: // the goroutine that writes looks for more afterwards
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

// write writes what begin has taken.
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
				m.engine.workers.ready(lane, listOf(lane, &m.node))
			}
		})
		return 0, false
	}
	return m.wrote(frames, err)
}

// wrote ends a turn: all is written, or the connection is broken.
func (m *Member) wrote(frames int, err error) (next Lane, again bool) {
	if err == nil {
		m.engine.metrics.frames.Add(float64(frames))
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
