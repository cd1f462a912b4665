package bench

import "fmt"

// ClosedError says why the server closed a player's connection.
type ClosedError struct {
	Code   int
	Reason string // the server's words; may be ""
}

// Error says it.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the server closed the connection: %s (code %d)", e.Reason, e.Code)
}
