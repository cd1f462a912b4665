package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// actor is a part of the process that runs until its context ends, and has joined what it started when it returns.
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

// newGroup makes a group that says on failed when an actor ends before it was told to. The channel needs room for one.
func newGroup(failed chan<- error) *group {
	ctx, cancel := context.WithCancel(context.Background())
	return &group{ctx: ctx, cancel: cancel, failed: failed}
}

// errEnded is an actor that has ended without being told to.
var errEnded = errors.New("ended by itself")

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
