//go:build !unix

package bench

import "time"

// openFiles is how many files this process may have open; not known here.
func openFiles() (most int, ok bool) { return 0, false }

// processorTime is how much processor time this process has used; not known here.
func processorTime() time.Duration { return 0 }
