package room

import (
	"bytes"
	"time"
)

// turn lets a worker do one thing for the member: write one frame, or take the next step of its parting. It reports the
// ready queue in which the worker must put the member for its next turn, if it needs one.
func (m *Member) turn(lane Lane, w *worker) (next Lane, again bool) {
	m.mu.Lock()
	m.queued[lane] = false
	switch {
	case m.busy:
		m.mu.Unlock()
		return 0, false // whoever writes looks for more when it has done so
	case m.state == closing:
		m.state = parting
		m.mu.Unlock()
		m.part()
		return 0, false
	case m.state == ended:
		m.state = gone
		m.mu.Unlock()
		m.hangUp()
		return 0, false
	case m.state > closing:
		m.mu.Unlock()
		return 0, false
	}
	w.batch = m.lanes.take(w.batch[:0])
	ping, control := m.ping, m.control
	m.ping, m.control, m.busy = false, nil, true
	m.mu.Unlock()

	wire := w.assemble(ping, control)
	frames := min(1, len(w.batch))
	clear(w.batch) // keeps no message alive
	if len(wire) == 0 {
		return m.wrote(0, nil)
	}
	n, err := m.conn.tryWrite(wire)
	if err == nil && n < len(wire) {
		m.await(bytes.Clone(wire[n:]), func(err error) {
			if lane, again := m.wrote(frames, err); again {
				m.lobby.flush.ready(lane, chainOf(lane, m))
			}
		})
		return 0, false
	}
	return m.wrote(frames, err)
}

// assemble is what is written in a turn: control frames, and one frame with the messages of the batch. It is good
// until the worker's next turn.
func (w *worker) assemble(ping bool, control []byte) []byte {
	if len(w.batch) == 1 && w.batch[0].header > 0 && !ping && control == nil {
		return w.batch[0].bytes
	}
	if cap(w.wire) > keptWire {
		w.wire = nil
	}
	w.wire = w.wire[:0]
	if ping {
		w.wire = append(w.wire, pingFrame...)
	}
	w.wire = append(w.wire, control...)
	if len(w.batch) > 0 {
		w.wire = appendMessages(w.wire, w.batch)
	}
	return w.wire
}

// wrote ends a turn: all has been written, or the connection is broken.
func (m *Member) wrote(frames int, err error) (next Lane, again bool) {
	if err == nil {
		m.lobby.metrics.frames.Add(float64(frames))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	if err != nil {
		return Results, m.broken(err)
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
	case m.state == draining:
		m.state = closing
		return Results, m.enqueue(Results)
	}
	return 0, false
}

// enqueue marks the member as standing in a lane's ready queue, and reports whether the caller must put it there. It
// needs m.mu. While somebody writes it need not be there: whoever does looks for more then.
func (m *Member) enqueue(lane Lane) bool {
	if m.queued[lane] || m.busy {
		return false
	}
	m.queued[lane] = true
	return true
}

// await writes what the connection did not take at once, in a goroutine that waits for the peer, and then calls then.
func (m *Member) await(rest []byte, then func(err error)) {
	m.mu.Lock()
	m.awaited = true
	m.conn.deadline(m.patience())
	m.mu.Unlock()
	m.lobby.flush.await(func() {
		err := m.conn.write(rest)
		m.mu.Lock()
		m.awaited = false
		m.conn.deadline(time.Time{})
		m.mu.Unlock()
		then(err)
	})
}

// patience is until when a peer is waited for that does not read. It needs m.mu.
func (m *Member) patience() time.Time {
	now := time.Now()
	switch {
	case m.state == open:
		return now.Add(m.lobby.o.WriteTimeout)
	case m.state == draining:
		return m.deadline
	case m.lost && m.control == nil:
		return now // there is nobody left to tell
	default:
		return now.Add(farewellTimeout)
	}
}

// hurry shortens the wait for a peer when the member is to part. It needs m.mu.
func (m *Member) hurry() {
	if m.awaited && m.state >= closing {
		m.conn.deadline(m.patience())
	}
}
