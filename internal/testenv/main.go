package testenv

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the servers they shared, checks that no goroutine is left, and exits:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
//
// With -short it prints how many tests are left out: those that need real servers, processes or a browser.
//
// The check covers the whole test binary. It is left out when a test has failed, because a failed test often stops
// half-way and its leak would hide the failure.
func Main(m *testing.M) {
	code := m.Run()
	sayWhatIsLeftOut()
	if err := End(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		code = max(code, 1)
	}
	// Idle keep-alive connections belong to the process, not to a test.
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code == 0 {
		if err := leaks(); err != nil {
			fmt.Fprintln(os.Stderr, "testenv: goroutines are left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks waits for goroutines to end. A client of a killed Redis retries once a second, and notices its own Close only
// then.
func leaks() (err error) {
	const within = 5 * time.Second
	for deadline := time.Now().Add(within); ; {
		err = goleak.Find(goleak.IgnoreTopFunction("redrain/internal/testenv.onOneThread"))
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// End kills every child and removes its files. [Main] calls it; a program that is not a test calls it last.
func End() error {
	err := atEnd.run()
	killChildren()
	return errors.Join(err, root.remove(), memory.remove())
}

// endings are the functions to call at the end of the test binary, the last one first.
type endings struct {
	mu  sync.Mutex
	all []func() error
}

var atEnd endings

// AtEnd registers f, which [Main] calls after all tests, to end a resource that they share.
func AtEnd(f func() error) {
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	atEnd.all = append(atEnd.all, f)
}

func (e *endings) run() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, f := range slices.Backward(e.all) {
		errs = append(errs, f())
	}
	e.all = nil
	return errors.Join(errs...)
}
