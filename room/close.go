package room

import (
	"bytes"
	"errors"
	"net"
	"time"

	"redrain/internal/ws"
)

// lingerFor is the time that the peer has to answer the close frame.
const lingerFor = 2 * time.Second

// Close discards the queued messages and closes the connection with a code and a reason. Only the first call of Close
// or CloseAfterFlush has an effect.
func (m *Member) Close(code int, reason string) { m.end(shut, code, reason) }

// CloseAfterFlush accepts no more messages. It closes the connection when the queued ones are written, or when
// WriteTimeout is over.
func (m *Member) CloseAfterFlush(code int, reason string) { m.end(drain, code, reason) }

func (m *Member) end(e event, code int, reason string) {
	m.do(func() (ready bool) { return m.startClose(e, code, reason) })
}

// Gone reports that reading from the connection has ended: the peer answered or sent a close frame, or the connection
// is lost. The connection is closed as soon as the answer to a close frame is written.
func (m *Member) Gone() {
	m.do(func() (ready bool) {
		m.peerGone = true
		ready = m.lose("")
		m.shortenWait()
		return ready
	})
}

// relay takes over a frame that the WebSocket library writes. It reports whether the library may write such a frame.
// It keeps the newest pong. A close frame ends the member.
func (m *Member) relay(wire []byte) bool {
	opcode := ws.Opcode(wire[0])
	if opcode != ws.OpPong && opcode != ws.OpClose {
		return false
	}
	m.do(func() (ready bool) {
		switch {
		case m.state >= closing: // only the member's close frame may follow
		case opcode == ws.OpClose:
			ready = m.lose("")
			m.control = bytes.Clone(wire)
		case m.state == open: // a leaving peer gets no pongs: with a ping for each it could stay
			m.control = bytes.Clone(wire)
			ready = m.enqueue(Results)
		}
		return ready
	})
	return true
}

// startClose begins the end of an open member, with a code. It reports whether the caller must put the member in the
// ready queue. It needs m.mu.
func (m *Member) startClose(e event, code int, reason string) (ready bool) {
	if m.state != open {
		return false
	}
	m.code, m.reason = code, reason
	m.deadline = time.Now().Add(m.lobby.o.WriteTimeout)
	return m.on(e) && m.enqueue(Results)
}

// lose ends a member whose peer is gone; it cuts draining or lingering short. It needs m.mu.
func (m *Member) lose(reason string) (ready bool) {
	if m.state == open {
		return m.startClose(lost, ws.CloseAbnormal, reason)
	}
	return m.on(lost) && m.enqueue(Results)
}

// slow ends a member that reads too slowly. It needs m.mu.
func (m *Member) slow() (ready bool) {
	if m.state != open {
		return false
	}
	m.lobby.metrics.slow.Inc()
	m.lobby.metrics.dropped[Results].Add(float64(m.lanes[Results].n))
	return m.startClose(shut, CodeSlowConsumer, "slow consumer")
}

// writeFailed ends a member after a failed write. A peer that let a write take too long is a slow consumer. It needs
// m.mu.
func (m *Member) writeFailed(err error) (ready bool) {
	m.peerGone, m.control = true, nil // half a frame may have been sent: nothing can follow it
	var netErr net.Error
	switch {
	case m.state == closing: // another goroutine has ended the member during the write
		return m.enqueue(Results)
	case m.state == open && errors.As(err, &netErr) && netErr.Timeout():
		return m.slow()
	}
	return m.lose(err.Error())
}

// schedule runs expired in d, and not before. It returns false when Run has ended. It needs m.mu.
func (m *Member) schedule(d time.Duration) bool {
	m.lobby.keeping.Lock()
	defer m.lobby.keeping.Unlock()
	if m.lobby.isOver {
		return false
	}
	m.timer.Reset(d)
	return true
}

// expired is called by the timer. A ping is due, the peer was silent for too long, or it has not answered the
// close frame.
func (m *Member) expired() {
	m.do(func() (ready bool) {
		if m.state == open {
			return m.beat()
		}
		return m.on(timeout) && m.enqueue(Results)
	})
}

// beat asks for a ping, or ends a member that has been silent for too long. It needs m.mu.
func (m *Member) beat() (ready bool) {
	o := &m.lobby.o
	silent := time.Since(m.lobby.started) - time.Duration(m.lastPong.Load())
	switch {
	case silent >= o.PongWait:
		return m.startClose(shut, CodeNoPong, "no pong")
	case !m.schedule(min(o.PingEvery, o.PongWait-silent)): // Run is ending
		return m.startClose(shut, CodeShutdown, "shutdown")
	}
	m.ping = true
	return m.enqueue(Results)
}

// sayGoodbye takes the member out of its room and writes the close frame. It is called once, in the state farewell.
func (m *Member) sayGoodbye() {
	m.lobby.Leave(m)
	wire := m.closeFrame()
	if wire == nil {
		m.finish(false)
		return
	}
	n, err := m.conn.tryWrite(wire)
	if err == nil && n < len(wire) {
		m.writeLater(wire[n:], func(err error) { m.finish(err == nil) })
		return
	}
	m.finish(err == nil)
}

// closeFrame returns the frame that ends the connection: that of the WebSocket library, or else one with the member's
// code. It returns nil if the peer cannot read it.
func (m *Member) closeFrame() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peerGone || m.code == ws.CloseAbnormal {
		return m.control
	}
	return ws.AppendClose(nil, m.code, m.reason)
}

// finish ends the state farewell: the close frame is written, or abandoned. It is called once.
func (m *Member) finish(written bool) {
	m.lobby.o.Log.Debug("a member has been closed", "code", m.code, "reason", m.reason)
	if m.onClose != nil {
		defer m.onClose(m.code)
	}
	if m.waitsForAnswer(written) {
		return
	}
	m.closeConn()
}

// waitsForAnswer lets the member linger if the peer may still answer the close frame.
func (m *Member) waitsForAnswer(written bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := unsaid
	if written && !m.peerGone && m.schedule(lingerFor) {
		e = said
	}
	m.on(e)
	return m.state == lingering
}

// closeConn closes the connection. It is called once, in the state closed.
func (m *Member) closeConn() {
	defer m.lobby.metrics.connections.Dec()
	defer m.lobby.drop(m)
	if err := m.conn.Close(); err != nil {
		m.lobby.o.Log.Debug("closing a connection", "err", err)
	}
}

// crashed ends a member after a panic in its time slice or in its wait for the peer. Half a frame may have been sent,
// so the connection is closed without a close frame.
func (m *Member) crashed() {
	inFarewell := false
	m.do(func() (ready bool) {
		m.busy, m.waiting, m.peerGone, m.control = false, false, true, nil
		inFarewell = m.state == farewell
		return m.state < farewell && (m.lose("panic") || m.enqueue(Results))
	})
	if inFarewell {
		m.finish(false)
	}
}

// on is the only method that changes a member's state. It reports whether the state changed. It needs m.mu.
func (m *Member) on(e event) (changed bool) {
	next, changed := m.state.after(e)
	if !changed {
		return false
	}
	if m.state == open || next == hangingUp {
		m.timer.Stop()
	}
	m.state = next
	if next == closing {
		m.lanes, m.control, m.held = lanes{}, nil, false // keeps no message alive
		m.shortenWait()
	}
	return true
}

// Close codes after which a client reconnects, with a full-jitter backoff.
const (
	CodeShutdown     = 4000 // this node is going away
	CodeUnavailable  = 4001 // a back end does not answer, or there are too many newcomers at once
	CodeFull         = 4003 // no admission to the room yet: after goodbye.reconnect_after_ms
	CodeTooManySeats = 4004 // the player has opened one connection too many; the newest ones stay
	CodeSlowConsumer = 4008 // the client reads its results too slowly; the next welcome has its wins
	CodeNoPong       = 4009 // no sign of life from the client for too long
)

// Close codes after which a client does not reconnect by itself: the same would happen again.
const (
	CodeBadToken        = 4500 // the token is not valid
	CodeProtocol        = 4501 // the client does not speak redrain.v1, or sent no hello in time
	CodeUnknownCampaign = 4502 // hello named an unknown campaign
	CodeTooManyBad      = 4504 // the client sent too many bad messages
	CodeOrigin          = 4505 // the page's origin is not allowed
	CodeSentAway        = 4506 // an operator has ended the player's connections, or has banned the player
	CodeExpired         = 4507 // the token has expired: come back with a new one
	CodeNotInvited      = 4508 // the campaign is for the players on its list, and this one is not on it
)
