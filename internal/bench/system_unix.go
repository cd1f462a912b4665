//go:build unix

package bench

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// openFiles is how many files this process may have open. The soft limit is raised to the hard one first; Go itself
// does so at the start unless the program was started with a limit of its own making.
func openFiles() (most int, ok bool) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	if raised := (unix.Rlimit{Cur: limit.Max, Max: limit.Max}); limit.Cur < limit.Max &&
		unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return int(min(limit.Cur, math.MaxInt32)), true
}

// processorTime is how much processor time this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
