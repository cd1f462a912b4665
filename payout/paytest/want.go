package paytest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
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
		testenv.Must(t, err)
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

// WantOfMany makes n calls at the same moment. So many succeed, and the others fail with refused.
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
	testenv.Equal(t, int(done.Load()), succeed, "calls that succeed")
}

// Err3 is testenv.Err for calls with two values.
func Err3[V, W any](_ V, _ W, err error) error { return err }
