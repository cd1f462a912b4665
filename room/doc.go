// Package room tracks members and delivers messages to them. It has rooms of members, two outbound lanes for each
// member, and the fan-out of one message to a full room. It does not parse the messages.
//
// A [Lobby] holds one [Room] for each campaign with members. A [Member] is one connection. It has two lanes, which
// are queues:
//
//	Results   in order, never dropped; a member that lets it fill up is closed with CodeSlowConsumer
//	Rain      the newest messages only; when it is full the oldest one is dropped
//
// Idle members cost no goroutine. A few workers write the queued messages, and live only while there is something to
// write (workers.go). Each member has a timer for pings and deadlines. One goroutine at a time serves a member, so a
// connection never has two writers. One time slice of a member is one frame, so no member is served twice while others
// wait (turn.go). A worker writes as much as the connection takes at once and never waits. A separate goroutine waits
// for a peer that has stalled, for at most WriteTimeout (turn.go).
//
// News of settled wins is not urgent. It waits in the results lane for the next frame to its member (news.go). Tens
// of thousands of frames with a few bytes each would cost more than all other notifications.
//
// Only the member writes to its connection (socket.go). It makes the frames with package ws, and makes a frame for
// many members once (frame.go). The WebSocket library performs the upgrade and reads the messages; package ws decodes
// the frames of taps.
//
// A panic in a member's time slice, in its timer or in onClose closes that member, and is logged with its stack. All
// others continue.
//
// A member is a state machine, whose transitions are a table (state.go, close.go):
//
//	open ─drain──▶ draining ──flushed──▶ closing ──turned──▶ farewell ──said──▶ lingering ──lost, timeout──▶ hangingUp
//	  │                │                     ▲                    │                                              │
//	  └──shut, lost────┴────────lost─────────┘                    └──unsaid──▶ closed ◀──────────turned──────────┘
//
// A member lingers so that the peer can read the close frame and answer it. A connection that is closed while unread
// taps lie in its receive buffer is reset. A reset can take the close frame, and the results before it, away from the
// peer. Lingering ends when the reader reports the end of reading (Member.Gone), or after two seconds. So the reader
// of a member's connection must read until that fails, and must leave the closing to the member.
//
// Locks are taken in this order, left to right; most paths need one:
//
//	Lobby.seating → Lobby.mu → segment.mu → Member.mu → Lobby.keeping, workers.mu or news.mu
//
// No lock is held while something is encoded or written, or while onClose runs.
package room
