package room

// state is a stage of a member's life. Package doc draws the states and the events between them.
type state uint8

const (
	stay      state = iota // in transitions: the event changes nothing
	open                   // takes messages
	draining               // accepts no more messages; the queued ones are being written
	closing                // waits for a worker to write the close frame
	farewell               // a worker writes the close frame
	lingering              // the peer has time to answer the close frame
	hangingUp              // waits for a worker to close the connection
	closed                 // the connection is closed
	stateCount
)

// event moves a member from one state to another.
type event uint8

const (
	shut    event = iota // Close, a slow consumer, no pong: the queued messages are discarded
	drain                // CloseAfterFlush
	lost                 // the peer is gone, or a write has failed
	flushed              // all queued messages are written
	turned               // a worker has taken the member up
	said                 // the close frame is written, and the peer has time to answer
	unsaid               // the close frame is not written, or the peer cannot answer
	timeout              // the timer has fired
	eventCount
)

// transitions lists all steps of a member; the zero value means that the event changes nothing.
var transitions = [stateCount][eventCount]state{
	open:      {shut: closing, drain: draining, lost: closing},
	draining:  {lost: closing, flushed: closing},
	closing:   {turned: farewell},
	farewell:  {said: lingering, unsaid: closed},
	lingering: {lost: hangingUp, timeout: hangingUp},
	hangingUp: {turned: closed},
}

// after returns the state that an event leads to; changed is false if the event changes nothing.
func (s state) after(e event) (next state, changed bool) {
	next = transitions[s][e]
	return next, next != stay
}
