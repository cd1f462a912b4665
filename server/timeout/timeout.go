// Package timeout has the time limits of requests, commands and single back-end calls. The limit of a batch of taps is
// in package grab, that of a player's hello in server/gateway.
package timeout

import "time"

const (
	// Backend is the limit of one call of a back end (Redis, NATS, SQL).
	Backend = 5 * time.Second
	// Glance is the limit of a call of a back end whose answer a newcomer can do without. It leaves enough of a hello's
	// time for the calls that are needed.
	Glance = time.Second
	// Request is the limit of a request that only reads. It makes several calls, and an operator's client waits for 30
	// seconds.
	Request = 10 * time.Second
	// Progress is the limit of a stall of a stream (the events, a list as CSV), be it the back end's or the reader's.
	Progress = 20 * time.Second
	// Stall is the limit of a client's wait before it reads the next part of an answer.
	Stall = 15 * time.Second
	// Page is the limit of writing an answer over HTTP/2, unless the answer has its own limit.
	Page = time.Minute
	// Command is the limit of an operator's command, such as stocking the largest campaign.
	Command = 2 * time.Minute
	// Rebuild is the limit of a rebuild, which reads a week of the stream and the largest campaign.
	Rebuild = 30 * time.Minute
	// Proof is the limit of a reconciliation of one campaign or of all, which reads every row. An operator's client
	// waits as long.
	Proof = time.Hour
)
