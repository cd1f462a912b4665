//go:build !unix

package bench

import "time"

// processorTime is how much processor time this process has used; not known here.
func processorTime() time.Duration { return 0 }
