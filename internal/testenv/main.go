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

// leaks waits for goroutines to end: a client of a Redis that was killed looks for it once a second, and hears only
// then that it has been closed.
func leaks() (err error) {
	const within = 5 * time.Second
	for deadline := time.Now().Add(within); ; {
		if err = goleak.Find(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// End ends every child and removes what it wrote. [Main] calls it; who is no test binary calls it last. Children get no
// chance to save anything: it is deleted anyway.
func End() error {
	err := atEnd.run()
	killChildren()
	launcher.stop()
	return errors.Join(err, root.remove(), memory.remove())
}

// endings are what is to be done at the end of the test binary, last come first.
type endings struct {
	mu  sync.Mutex
	all []func() error
}

var atEnd endings

// AtEnd has f called by [Main] after all tests. It is for what the tests of a binary share and no single one of
// them ends.
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
