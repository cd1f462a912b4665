package testenv

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// T is the part of a test that this package uses. Tests and benchmarks of package testing implement it. Another program
// that starts servers may implement it too; it must call the functions of Cleanup at its end, the last one first.
type T interface {
	Helper()
	Context() context.Context // of the test
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
	Skipf(format string, args ...any)  // does not return
}

// asserter and fataler are the parts of a test, or of one check of rapid, that a comparison uses.
type (
	asserter interface {
		Helper()
		Errorf(format string, args ...any)
	}
	fataler interface {
		Helper()
		Fatal(args ...any)
	}
)

// Must ends the test if an operation that the test needs has failed.
func Must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Err is the error of a call whose value the test does not need.
func Err[V any](_ V, err error) error { return err }

// WantErr wants an operation to fail with an error; what names the operation.
func WantErr(t asserter, err, want error, what ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", strings.Join(what, " "), err, want)
	}
}

// WantFail wants an operation to fail, with any error; what names the operation.
func WantFail(t asserter, err error, what ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", strings.Join(what, " "))
	}
}

// Equal compares got and want deeply. An empty slice or map equals nil. The parameters what and args name the value.
func Equal[V any](t asserter, got, want V, what string, args ...any) {
	t.Helper()
	a, b := reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len() == 0 && b.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// Result is the result of a call.
type Result[V any] struct {
	value V
	err   error
}

// Got is the result of a call: testenv.Got(f()).Must(t) is its value.
func Got[V any](value V, err error) Result[V] { return Result[V]{value, err} }

// Got3 is Got for calls with two values. It keeps the first.
func Got3[V, W any](value V, _ W, err error) Result[V] { return Result[V]{value, err} }

// Must is the value. The test ends if there is an error instead.
func (r Result[V]) Must(t fataler) V {
	t.Helper()
	Must(t, r.err)
	return r.value
}

// Want wants the value to be want, as Equal does, and no error.
func (r Result[V]) Want(t asserter, want V, what string, args ...any) {
	t.Helper()
	if WantErr(t, r.err, nil, fmt.Sprintf(what, args...)); r.err == nil {
		Equal(t, r.value, want, what, args...)
	}
}

// Len is Want for the length of a list.
func (r Result[V]) Len(t asserter, want int, what string, args ...any) {
	t.Helper()
	if n := reflect.ValueOf(r.value).Len(); r.err != nil || n != want {
		t.Errorf("%s: %d of them, %+v, %v, want %d", fmt.Sprintf(what, args...), n, r.value, r.err, want)
	}
}

// Patiently returns the time limit for an event that takes at most d on a quiet machine. It is generous, because a
// passed limit costs nothing.
func Patiently(d time.Duration) time.Duration { return 6 * d }

// Eventually waits until cond is true. It asks on the test's goroutine, at most 200 times a second, and uses at most a
// tenth of a processor. It fails the test with the text what if that takes much longer than within, the longest time on
// a quiet machine. It is for matters outside this process; within it, a channel or testing/synctest is better.
func Eventually(t T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	within = Patiently(within)
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		began := time.Now()
		if cond() {
			return
		}
		pause := min(max(5*time.Millisecond, 9*time.Since(began)), 250*time.Millisecond)
		select {
		case <-time.After(pause):
		case <-deadline.C:
			if !cond() { // it may have come true while this goroutine waited for its turn
				t.Fatalf("not within %v: %s", within, what)
			}
			return
		}
	}
}

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

// Contains wants a text to contain another one; what names the text.
func Contains(t asserter, got, want, what string, args ...any) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: %q does not contain %q", fmt.Sprintf(what, args...), got, want)
	}
}
