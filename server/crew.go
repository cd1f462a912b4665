package server

import (
	"context"
	"fmt"
	"sync"
)

// crew is a set of actors that start and stop together. An actor blocks in its Run until its context ends, and has
// joined what it started when it returns.
type crew struct {
	ctx    context.Context //nolint:containedctx // the crew is the life that this context stands for
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan<- error
}

// newCrew makes a crew that says on failed when an actor ends before it was told to. The channel needs room for one.
func newCrew(failed chan<- error) *crew {
	ctx, cancel := context.WithCancel(context.Background())
	return &crew{ctx: ctx, cancel: cancel, failed: failed}
}

// start adds an actor.
func (c *crew) start(name string, run func(context.Context) error) {
	c.wg.Go(func() {
		err := run(c.ctx)
		if c.ctx.Err() != nil && err == nil {
			return
		}
		if err == nil {
			err = fmt.Errorf("ended by itself")
		}
		select {
		case c.failed <- fmt.Errorf("%s: %w", name, err):
		default: // another failure is already ending the process
		}
	})
}

// stop ends the actors and waits for them.
func (c *crew) stop() {
	c.cancel()
	c.wg.Wait()
}
