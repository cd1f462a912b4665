//go:build unix

package bench

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// openFiles returns the limit of open files, after raising a soft limit that was set explicitly to the hard one.
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

// processorTime returns the used processor time of this process.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
