package bench

// newPoller is the leanest poller of this system.
func newPoller() (poller, error) { return newEpoll() }
