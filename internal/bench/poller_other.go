//go:build !linux

package bench

// newPoller is the leanest poller of this system.
func newPoller() (poller, error) { return newPortable(), nil }
