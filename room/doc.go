// Package room knows who is here and hands messages to them: rooms of members, two outbound lanes for each member,
// and the fan-out of one message to a full room. It does not look into the messages.
//
// A [Lobby] holds one [Room] for each campaign that somebody watches. A [Member] is one connection. It has two lanes:
//
//	Results   in order, never dropped; a member that lets it fill up is closed with CodeSlowConsumer
//	Rain      the newest messages only; when it is full the oldest one makes room
//
// Idle members cost no goroutine. What is queued for members is written by a few workers that live only while there
// is something to write (workers.go), and all pings and deadlines hang on one timer wheel (wheel.go). One goroutine
// at a time serves a member, so a connection never has two writers. One turn of a member is one frame, so nobody is
// served twice while others wait (turn.go). A worker writes what the connection takes at once and never waits; a
// goroutine of its own waits for a peer that has stalled, for at most WriteTimeout (wait.go).
//
// What has time, news of settled wins, waits in the results lane for the next frame to its member (news.go): tens of
// thousands of frames with a few bytes each cost more than all else that is done to tell people.
//
// Only the member writes to its connection (socket.go). It makes the frames with package ws, and makes a frame for
// many members once (frame.go). The WebSocket library makes the upgrade, and reads what
// package ws leaves to it.
//
// A panic in a member's turn, in its timer or in onClose closes that member, and is logged with its stack; all
// others are served on.
//
// A member is a state machine, whose transitions are a table (state.go, close.go):
//
//	open ─drain──▶ draining ──flushed──▶ closing ──turned──▶ farewell ──said──▶ lingering ──lost, timeout──▶ hangingUp
//	  │                │                     ▲                    │                                              │
//	  └──shut, lost────┴────────lost─────────┘                    └──unsaid──▶ closed ◀──────────turned──────────┘
//
// A member lingers so that the peer can read the close frame and answer it: a connection that is closed while
// unread taps lie in its receive buffer is reset, and a reset can take the close frame, and the results before it,
// away from the peer. Lingering ends when the reader reports that reading has ended (Member.Gone), or after two
// seconds. Whoever reads a member's connection therefore reads on until that fails, and leaves the closing to the
// member.
//
// Locks are taken in this order, left to right; most paths need one:
//
//	Lobby.seating → Lobby.mu → segment.mu → Member.mu → wheel.mu, workers.mu or news.mu
//
// No lock is held while something is encoded or written, or while onClose runs.
package room
