package testenv

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Run runs an actor on a goroutine of its own. stop ends the actor's context, waits until it returns, and fails the
// test if it returns an error. The end of the test calls stop as well.
func Run(t T, actor func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- actor(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the actor has failed: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Contains wants a text to contain another one; what says which text.
func Contains(t interface {
	Helper()
	Errorf(format string, args ...any)
}, got, want, what string, args ...any) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: %q does not contain %q", fmt.Sprintf(what, args...), got, want)
	}
}
