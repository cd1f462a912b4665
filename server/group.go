package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// actor is a part of the process that runs until its context ends. It returns after all its goroutines.
type actor struct {
	name string
	run  func(context.Context) error
}

// group is a set of actors that start and stop together.
type group struct {
	ctx    context.Context //nolint:containedctx // the actors' life, which stop ends
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan<- error
}

// newGroup returns a group that sends to failed if an actor ends before stop. The channel needs a buffer of one.
func newGroup(failed chan<- error) *group {
	ctx, cancel := context.WithCancel(context.Background())
	return &group{ctx: ctx, cancel: cancel, failed: failed}
}

// errEnded means that an actor has ended before its group was stopped.
var errEnded = errors.New("component stopped unexpectedly")

// start adds actors.
func (g *group) start(actors []actor) {
	for _, a := range actors {
		g.wg.Go(func() {
			err := a.run(g.ctx)
			if err == nil && g.ctx.Err() != nil {
				return
			}
			if err == nil {
				err = errEnded
			}
			select {
			case g.failed <- fmt.Errorf("%s: %w", a.name, err):
			default: // another failure is already ending the process
			}
		})
	}
}

// stop ends the actors and waits for them.
func (g *group) stop() {
	g.cancel()
	g.wg.Wait()
}
