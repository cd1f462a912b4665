package room

// state is where a member is in its life. Package doc draws the states and the events between them.
type state uint8

const (
	stay      state = iota // in transitions: the event changes nothing
	open                   // takes messages
	draining               // takes no more messages; those that are queued are being written
	closing                // waits for a worker to write the close frame
	farewell               // a worker writes the close frame
	lingering              // the peer has time to answer the close frame
	hangingUp              // waits for a worker to close the connection
	closed                 // the connection is closed
	stateCount
)

// event is what moves a member from one state to another.
type event uint8

const (
	shut    event = iota // Close, a slow consumer, no pong: what is queued is thrown away
	drain                // CloseAfterFlush
	lost                 // the peer is gone, or a write has failed
	flushed              // all that was queued is written
	turned               // a worker has taken the member up
	said                 // the close frame is written, and the peer has time to answer
	unsaid               // the close frame is not written, or nobody is there to answer
	timeout              // the timer has fired
	eventCount
)

// transitions are all steps that a member can take; the zero value means that the member stays where it is.
var transitions = [stateCount][eventCount]state{
	open:      {shut: closing, drain: draining, lost: closing},
	draining:  {lost: closing, flushed: closing},
	closing:   {turned: farewell},
	farewell:  {said: lingering, unsaid: closed},
	lingering: {lost: hangingUp, timeout: hangingUp},
	hangingUp: {turned: closed},
}

// on is the one place where a member changes its state. It reports whether it has. It needs m.mu.
func (m *Member) on(e event) (changed bool) {
	next := transitions[m.state][e]
	if next == stay {
		return false
	}
	if m.state == open || next == hangingUp {
		m.lobby.wheel.cancel(&m.timer)
	}
	m.state = next
	if next == closing {
		m.lanes, m.control = lanes{}, nil // keeps no message alive
		m.shortenWait()
	}
	return true
}
