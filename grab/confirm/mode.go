package confirm

import (
	"fmt"
	"strings"
)

// Mode is the confirmation of a win before its player is notified.
type Mode int

// The modes, from the fastest to the safest.
const (
	// Redis alone: a win is never paid if Redis loses it after the player was notified.
	Redis Mode = iota
	// Replica waits for all failover candidates too: the loss of a master loses no win of a notified player.
	Replica
	// Stream waits for those replicas if there are any, and for JetStream: the loss of all of Redis loses no win of a
	// notified player.
	Stream
)

var names = []string{Redis: "redis", Replica: "replica", Stream: "stream"}

// String returns the mode's name, as Parse reads it.
func (m Mode) String() string { return names[m] }

// Parse returns the mode with a name: redis, replica or stream.
func Parse(name string) (Mode, error) {
	for m, known := range names {
		if name == known {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("invalid mode %q: want one of %s", name, strings.Join(names, ", "))
}
