package room

import (
	"time"

	"github.com/gorilla/websocket"
)

// turn lets a worker do one thing for the member: write one frame, or take the next step of its parting. It reports the
// ready queue in which the worker must put the member for its next turn, if it needs one.
func (m *Member) turn(lane Lane, w *worker) (next Lane, again bool) {
	m.mu.Lock()
	m.queued[lane] = false
	switch {
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
	case m.state > closing || m.busy:
		m.mu.Unlock()
		return 0, false
	}
	w.batch = m.lanes.take(w.batch[:0])
	ping, deadline := m.ping, m.deadline
	m.ping, m.busy = false, true
	m.mu.Unlock()

	if deadline.IsZero() {
		deadline = time.Now().Add(m.lobby.o.WriteTimeout)
	}
	err := m.write(w.batch, ping, deadline)
	clear(w.batch) // keeps no message alive

	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	if err != nil {
		return Results, m.broken(err)
	}
	return m.more()
}

// write is called by one worker at a time.
func (m *Member) write(frames []frame, ping bool, deadline time.Time) error {
	if ping {
		if err := m.conn.WriteControl(websocket.PingMessage, nil, deadline); err != nil {
			return err
		}
	}
	if len(frames) == 0 {
		return nil
	}
	if err := m.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if err := writeFrames(m.conn, frames); err != nil {
		return err
	}
	m.lobby.metrics.frames.Inc()
	return nil
}

// more finds what is left to do after a turn. It needs m.mu.
func (m *Member) more() (next Lane, again bool) {
	switch {
	case m.state > draining:
		return 0, false // whoever closed the member has put it in the queue
	case m.lanes[Results].n > 0 || m.ping:
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
// needs m.mu. While a worker writes it need not be there, since the worker looks for more when it has done so; only the
// close frame does not wait for a write.
func (m *Member) enqueue(lane Lane) bool {
	if m.queued[lane] || (m.busy && m.state < closing) {
		return false
	}
	m.queued[lane] = true
	return true
}
