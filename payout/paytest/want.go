package paytest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// testingT has the common methods of testing.T and rapid.T.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Pages reads a list to its end, and returns its pages.
func Pages[T any](t testing.TB, page func(cursor string) (list []T, next string, err error)) (pages [][]T) {
	t.Helper()
	for cursor := ""; ; {
		list, next, err := page(cursor)
		Must(t, err)
		pages = append(pages, list)
		if cursor = next; next == "" {
			return pages
		}
	}
}

// Map applies a function to each part of a list.
func Map[V, W any](list []V, of func(V) W) []W {
	made := make([]W, len(list))
	for i, v := range list {
		made[i] = of(v)
	}
	return made
}

// Must fails the test on an error.
func Must(t testingT, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Together calls do n times at the same moment, and waits.
func Together(n int, do func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { <-start; do(i) })
	}
	close(start)
	wg.Wait()
}

// WantOfMany has n calls at the same moment, of which so many succeed. The others fail with refused.
func WantOfMany(t testingT, n, succeed int, refused error, do func(i int) error) {
	t.Helper()
	var done atomic.Int32
	Together(n, func(i int) {
		switch err := do(i); {
		case err == nil:
			done.Add(1)
		case !errors.Is(err, refused):
			t.Errorf("call %d: %v, want %v", i, err, refused)
		}
	})
	Want(t, int(done.Load()), succeed, "calls that succeed")
}

// Check reports an error, also of another goroutine; what says which operation has failed.
func Check(t testingT, err error, what ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", strings.Join(what, " "), err)
	}
}

// Err3 is testenv.Err for calls with two values.
func Err3[V, W any](_ V, _ W, err error) error { return err }

// Want compares a value with the expected one; what says which value.
func Want[V comparable](t testingT, got, want V, what ...string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", strings.Join(what, " "), got, want)
	}
}

// WantList compares a list with the expected one; what says which list.
func WantList[V comparable](t testingT, got, want []V, what ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", strings.Join(what, " "), got, want)
	}
}

// WantFail wants an operation to fail; what says which one.
func WantFail(t testingT, err error, what ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: it has not failed", strings.Join(what, " "))
	}
}

// Result is the result of a call: Got(b.Cleared(ctx, "c1")).Want(t, true, "cleared").
type Result[V any] struct {
	value V
	err   error
}

// Got is the result of a call.
func Got[V any](value V, err error) Result[V] { return Result[V]{value, err} }

// Got3 is Got for calls with two values, of which the first counts.
func Got3[V, W any](value V, _ W, err error) Result[V] { return Result[V]{value, err} }

// Must is the value. An error ends the test.
func (r Result[V]) Must(t testingT) V {
	t.Helper()
	Must(t, r.err)
	return r.value
}

// Want compares the value with the expected one, and wants no error; what says which value.
func (r Result[V]) Want(t testingT, want V, what ...string) {
	t.Helper()
	if r.err != nil || !reflect.DeepEqual(r.value, want) {
		t.Errorf("%s: %+v, %v, want %+v", strings.Join(what, " "), r.value, r.err, want)
	}
}

// Len is Want for the length of a list.
func (r Result[V]) Len(t testingT, want int, what ...string) {
	t.Helper()
	if n := reflect.ValueOf(r.value).Len(); r.err != nil || n != want {
		t.Errorf("%s: %d of them, %+v, %v, want %d", strings.Join(what, " "), n, r.value, r.err, want)
	}
}
