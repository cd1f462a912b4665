package confirm

import (
	"fmt"
	"strings"
)

// Mode is what must have a win before its player is told.
type Mode int

// The ways to confirm a win, from the fastest to the safest.
const (
	// Redis alone: a win that it loses after the player was told is never paid.
	Redis Mode = iota
	// Replica asks for all replicas that could become master too: the loss of a master loses no win that was told.
	Replica
	// Stream asks for those replicas where there are any, and for JetStream: the loss of all of Redis loses no win that
	// was told.
	Stream
)

var names = []string{Redis: "redis", Replica: "replica", Stream: "stream"}

// String is the mode's name, as Parse reads it.
func (m Mode) String() string { return names[m] }

// Parse is the mode of that name: redis, replica or stream.
func Parse(name string) (Mode, error) {
	for m, known := range names {
		if name == known {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}
