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

// after is the state that an event leads to; changed is false where it changes nothing.
func (s state) after(e event) (next state, changed bool) {
	next = transitions[s][e]
	return next, next != stay
}
