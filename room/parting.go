package room

import (
	"bytes"
	"errors"
	"net"
	"time"

	"redrain/internal/ws"
)

const (
	// farewellTimeout is how long the close frame may wait for a peer that does not read.
	farewellTimeout = 500 * time.Millisecond
	// lingerFor is how long the peer has to answer the close frame.
	lingerFor = 2 * time.Second
)

// state is where a member is in its life; doc.go has the picture. The states come in this order.
type state uint8

const (
	open      state = iota
	draining        // takes no more messages; what is queued is being written
	closing         // waits for a worker to write the close frame
	parting         // a worker writes it
	lingering       // the peer has time to answer
	ended           // waits for a worker to close the connection
	gone
)

// Close throws away what is queued and closes the connection with a code and a reason. Only the first call of Close or
// CloseAfterFlush has an effect.
func (m *Member) Close(code int, reason string) { m.end(closing, code, reason) }

// CloseAfterFlush takes no more messages, and closes the connection when those that are queued have been written,
// or when WriteTimeout is over.
func (m *Member) CloseAfterFlush(code int, reason string) { m.end(draining, code, reason) }

func (m *Member) end(to state, code int, reason string) {
	m.mu.Lock()
	ready := m.shut(to, code, reason)
	m.mu.Unlock()
	m.toWorkers(ready)
}

// Gone tells that reading from the connection has ended: the peer has answered the close frame, or has sent one, or
// it is lost. The connection is closed without waiting for more than the answer to a close frame to be written.
func (m *Member) Gone() {
	m.mu.Lock()
	m.lost = true
	ready := false
	switch m.state {
	case open, draining:
		ready = m.lose("")
	case lingering:
		m.state = ended
		m.lobby.wheel.cancel(&m.timer)
		ready = m.enqueue(Results)
	case closing, parting, ended, gone: // a worker sees lost, or has done it all
	}
	m.hurry()
	m.mu.Unlock()
	m.toWorkers(ready)
}

// relay takes a frame over that the WebSocket library wants to write, and reports whether it is one that the
// library may write: a pong, of which only the newest matters, or a close frame, which ends the member.
func (m *Member) relay(wire []byte) bool {
	m.mu.Lock()
	ready := false
	switch opcode := ws.Opcode(wire[0]); {
	case opcode != ws.OpPong && opcode != ws.OpClose:
		m.mu.Unlock()
		return false
	case m.state >= closing: // too late for anything but the member's own close frame
	case opcode == ws.OpClose:
		ready = m.lose("")
		m.control = bytes.Clone(wire)
	case m.state == open: // who is leaving gets no pongs: with a ping for each it could stay
		m.control = bytes.Clone(wire)
		ready = m.enqueue(Results)
	}
	m.mu.Unlock()
	m.toWorkers(ready)
	return true
}

func (m *Member) toWorkers(ready bool) {
	if ready {
		m.lobby.flush.ready(Results, chainOf(Results, m))
	}
}

// shut begins the end of an open member, and reports whether the caller must put it in the ready queue. It needs m.mu.
func (m *Member) shut(to state, code int, reason string) (ready bool) {
	if m.state != open {
		return false
	}
	m.code, m.reason = code, reason
	m.lobby.wheel.cancel(&m.timer)
	if to == closing {
		return m.drop()
	}
	m.state = to
	m.deadline = time.Now().Add(m.lobby.o.WriteTimeout)
	return m.enqueue(Results)
}

// lose shuts a member that is lost, or cuts its draining short. It needs m.mu.
func (m *Member) lose(reason string) (ready bool) {
	if m.state == draining {
		return m.drop()
	}
	return m.shut(closing, ws.CloseAbnormal, reason)
}

// drop makes a member ready for its close frame, and throws away what is queued. It needs m.mu.
func (m *Member) drop() (ready bool) {
	m.state = closing
	m.lanes, m.control = lanes{}, nil
	m.hurry()
	return m.enqueue(Results)
}

// slow shuts a member that does not read what it is sent. It needs m.mu.
func (m *Member) slow() (ready bool) {
	if m.state != open {
		return false
	}
	m.lobby.metrics.slow.Inc()
	m.lobby.metrics.dropped[Results].Add(float64(m.lanes[Results].n))
	return m.shut(closing, CodeSlowConsumer, "slow consumer")
}

// broken shuts a member after a failed write. One that took too long is a slow consumer's. It needs m.mu.
func (m *Member) broken(err error) (ready bool) {
	m.lost, m.control = true, nil // half a frame may be out: nothing can follow it
	var netErr net.Error
	switch {
	case m.state == closing:
		return m.enqueue(Results)
	case m.state == open && errors.As(err, &netErr) && netErr.Timeout():
		return m.slow()
	}
	return m.lose(err.Error())
}

// expired is called by the wheel: a ping is due, or the patience with the peer has ended.
func (m *Member) expired() {
	m.mu.Lock()
	ready := m.beat()
	m.mu.Unlock()
	m.toWorkers(ready)
}

func (m *Member) beat() (ready bool) {
	o := &m.lobby.o
	silent := time.Since(m.lobby.epoch) - time.Duration(m.heard.Load())
	switch {
	case m.state == lingering:
		m.state = ended
	case m.state != open:
		return false // it was shut in the moment in which the timer fired
	case silent >= o.PongWait:
		return m.shut(closing, CodeNoPong, "no pong")
	case !m.lobby.wheel.schedule(&m.timer, min(o.PingEvery, o.PongWait-silent)): // Run is ending
		return m.shut(closing, CodeShutdown, "shutdown")
	default:
		m.ping = true
	}
	return m.enqueue(Results)
}

// part takes the member out of its room and writes the close frame. It is called once.
func (m *Member) part() {
	m.lobby.Leave(m)
	wire := m.farewell()
	if wire == nil {
		m.parted(false)
		return
	}
	n, err := m.conn.tryWrite(wire)
	if err == nil && n < len(wire) {
		m.await(wire[n:], func(err error) { m.parted(err == nil) })
		return
	}
	m.parted(err == nil)
}

// farewell is the close frame, nil if nobody would read it: that of the WebSocket library, or else one with the
// member's code.
func (m *Member) farewell() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost || m.code == ws.CloseAbnormal {
		return m.control
	}
	return ws.AppendClose(nil, m.code, m.reason)
}

// parted ends the member when its close frame has been written, or given up.
func (m *Member) parted(sent bool) {
	m.mu.Lock()
	m.state = gone
	if sent && !m.lost && m.lobby.wheel.schedule(&m.timer, lingerFor) {
		m.state = lingering
	}
	hangUp := m.state == gone
	m.mu.Unlock()
	if hangUp {
		m.hangUp()
	}
	m.lobby.o.Log.Debug("a member has been closed", "code", m.code, "reason", m.reason)
	if m.onClose != nil {
		m.onClose(m.code)
	}
}

// hangUp closes the connection. It is called once.
func (m *Member) hangUp() {
	if err := m.conn.Close(); err != nil {
		m.lobby.o.Log.Debug("closing a connection", "err", err)
	}
	m.lobby.metrics.connections.Dec()
}
