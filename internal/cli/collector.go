package cli

import (
	"os"
	"runtime/debug"
	"slices"
)

// tuneCollector sets how much the heap grows until the garbage collector runs, where GOGC in the environment does not.
//
// A gateway collects when its heap has grown by half, not twofold: most of its memory belongs to waiting players and a
// tap makes almost no garbage, so this costs little and saves a tenth of the memory of each player. A node that settles
// and has no players collects late: it keeps next to nothing and makes a batch's garbage with each batch, and
// collecting was a quarter of its work.
func tuneCollector(roles []string) {
	const early, late = 50, 400
	switch {
	case os.Getenv("GOGC") != "":
	case slices.Contains(roles, "gateway"):
		debug.SetGCPercent(early)
	case slices.Contains(roles, "settle"):
		debug.SetGCPercent(late)
	}
}
