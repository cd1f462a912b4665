// Package timeout has how long requests, commands and single questions to a back end may take. A batch of taps has its
// own limit, in package grab; a player's hello, in server/gateway.
package timeout

import "time"

const (
	// Backend is how long one question to a back end (Redis, NATS, SQL) may take.
	Backend = 5 * time.Second
	// Request is how long a request that only reads may take. It asks several questions, and an operator's client waits
	// for 30 seconds.
	Request = 10 * time.Second
	// Progress is how long a stream (the events, a list as CSV) may stand still: neither a back end that hangs nor a
	// reader that takes nothing keeps it for longer.
	Progress = 20 * time.Second
	// Stall is how long a client may take to read the next part of an answer.
	Stall = 15 * time.Second
	// Page is how long an answer may take to be written that has no limit of its own, over HTTP/2.
	Page = time.Minute
	// Command is how long an operator's command may take: stocking the largest campaign is one.
	Command = 2 * time.Minute
	// Rebuild is how long a rebuild may take: it reads a week of the stream, and the largest campaign.
	Rebuild = 30 * time.Minute
	// Proof is how long a proof may take, of one campaign or of all: it reads every row. An operator's client waits as
	// long.
	Proof = time.Hour
)
