// Package room knows who is here and hands messages to them: rooms of members, two outbound lanes for each
// member, and the fan-out of one message to a full room. It knows nothing of what the messages say.
//
// A [Lobby] holds one [Room] for each campaign that somebody watches. A [Member] is one connection; it has two lanes:
//
//	Results   in order, never dropped; a member that lets it fill up is closed with CodeSlowConsumer
//	Rain      only the newest matter; when it is full the oldest frame makes room
//
// Nothing waits for an idle member. What is queued for members is written by a few workers that live only while
// there is something to write (flush.go), and all pings and deadlines hang on one timer wheel (wheel.go). A member
// is in the hands of one goroutine at a time, so a connection never has two writers, and one turn is one frame, so
// nobody is served twice while others wait. A worker writes what the connection takes at once and never waits; a
// peer that has stalled is awaited by a goroutine of its own, for as long as WriteTimeout.
//
// Only the member writes to its connection (socket.go), and it makes the frames by itself (frame.go): those for
// many once. The WebSocket library makes the upgrade and reads.
//
// The life of a member:
//
//	open ──CloseAfterFlush──▶ draining ──all written──▶ closing ──▶ parting ──close frame out──▶ lingering ──▶ ended ──▶ gone
//	  │                          │                         ▲           │                                              ▲
//	  └───Close, slow, no pong───┴──write fails, too late──┘           └────────────the connection is broken──────────┘
//
// A member lingers so that the peer can read the close frame and answer it: a connection that is closed while
// unread taps lie in its receive buffer is reset, and a reset can take the close frame, and the results before it,
// away from the peer. It ends when the reader reports that reading has ended (Member.Gone), or after two seconds.
// Whoever reads a member's connection therefore reads on until it fails, and leaves the closing of it to the
// member.
//
// Locks are taken in this order, left to right; most paths need one:
//
//	Lobby.seating → Lobby.mu → segment.mu → Member.mu → wheel.mu or flushers.mu
//
// No lock is held while something is encoded or written, or while onClose runs.
package room
