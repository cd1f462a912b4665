package bench

import "fmt"

// ClosedError says with which code the server closed a player's connection.
type ClosedError struct{ Code int }

// Error says it.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the server closed the connection with code %d", e.Code)
}
