// Package timeout is how long the parts of a server wait for each other.
package timeout

import "time"

const (
	// Backend is how long one question to a back end (Redis, NATS, SQL) may take.
	Backend = 5 * time.Second
	// Command is how long an operator's command may take: stocking the largest campaign is one.
	Command = 2 * time.Minute
	// Rebuild is how long a rebuild may take: it reads a week of the stream, and the largest campaign.
	Rebuild = 30 * time.Minute
)
