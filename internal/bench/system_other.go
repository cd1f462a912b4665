//go:build !unix

package bench

import "time"

// openFiles returns the limit of open files; unknown on this system.
func openFiles() (most int, ok bool) { return 0, false }

// processorTime returns the used processor time; unknown on this system.
func processorTime() time.Duration { return 0 }
