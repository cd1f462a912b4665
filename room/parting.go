package room

import (
	"errors"
	"net"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

const (
	// farewellTimeout is how long the close frame may wait for a peer that does not read.
	farewellTimeout = 500 * time.Millisecond
	// lingerFor is how long the peer has to answer the close frame.
	lingerFor = 2 * time.Second
	// maxReason is what a close frame has room for, in bytes.
	maxReason = 123
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

// CloseAfterFlush takes no more messages, and closes the connection when those that are queued have been written, or when WriteTimeout is
// over.
func (m *Member) CloseAfterFlush(code int, reason string) { m.end(draining, code, reason) }

func (m *Member) end(to state, code int, reason string) {
	m.mu.Lock()
	ready := m.shut(to, code, reason)
	m.mu.Unlock()
	m.toWorkers(ready)
}

// Gone tells that reading from the connection has ended: the peer has answered the close frame, or it is lost. The
// connection is closed without waiting for anything.
func (m *Member) Gone() {
	m.mu.Lock()
	m.lost = true
	ready := false
	switch m.state {
	case open:
		ready = m.shut(closing, websocket.CloseAbnormalClosure, "")
	case draining:
		m.state = closing
		ready = m.enqueue(Results)
	case lingering:
		m.state = ended
		m.lobby.wheel.cancel(&m.timer)
		ready = m.enqueue(Results)
	case closing, parting, ended, gone: // a worker sees lost, or has done it all
	}
	m.mu.Unlock()
	m.toWorkers(ready)
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
	m.state, m.code, m.reason = to, code, reason
	m.lobby.wheel.cancel(&m.timer)
	if to == draining {
		m.deadline = time.Now().Add(m.lobby.o.WriteTimeout)
	} else {
		m.lanes = lanes{}
	}
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
	m.lost = true // half a frame may be out: nothing can follow it
	var netErr net.Error
	switch {
	case m.state == draining:
		m.state = closing
		return m.enqueue(Results)
	case errors.As(err, &netErr) && netErr.Timeout():
		return m.slow()
	}
	return m.shut(closing, websocket.CloseAbnormalClosure, err.Error())
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
		return false // shut in the moment in which the timer fired
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
	sent := m.farewell()
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

// farewell writes the close frame, and reports whether the peer may get it. It may be called while another worker is
// stuck in a write; gorilla then gives up at the deadline.
func (m *Member) farewell() bool {
	m.mu.Lock()
	lost := m.lost
	m.mu.Unlock()
	if lost || m.code == websocket.CloseAbnormalClosure {
		return false
	}
	frame := websocket.FormatCloseMessage(m.code, shorten(m.reason, maxReason))
	return m.conn.WriteControl(websocket.CloseMessage, frame, time.Now().Add(farewellTimeout)) == nil
}

// hangUp closes the connection; a worker that is stuck in a write to it returns. It is called once.
func (m *Member) hangUp() {
	if err := m.conn.Close(); err != nil {
		m.lobby.o.Log.Debug("closing a connection", "err", err)
	}
	m.lobby.metrics.connections.Dec()
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
