// Package sample is what the tests of mutate change.
package sample

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

var errNone = errors.New("none")

const limit = 40

var retry = 3 * time.Second

type color string

type store struct {
	mu    sync.Mutex
	items []int
	done  chan struct{}
}

// Add is tested to the last change.
func (s *store) Add(n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		return 0, errNone
	}
	s.items = append(s.items, n)
	return len(s.items), nil
}

// Weak is called, and nothing about it is looked at.
func (s *store) Weak(a, b int) (sum int, ok bool) {
	slog.Info("weak", "a", a+b)
	for _, i := range s.items {
		sum += i
	}
	sum = min(sum, limit)
	return sum - a*b, sum > 0 && a != b
}

func (c color) number() int {
	switch c {
	case "red":
		return 1
	case "blue":
		return 2
	}
	return 0
}

// Unreached is what no test calls.
func (s *store) Unreached(c <-chan int) int {
	select {
	case n := <-c:
		return -n
	case <-s.done:
		close(s.done)
	}
	return s.items[0]
}

// Endless hangs where its step is taken away.
func Endless() (n int) {
	for n < 3 {
		n++
	}
	return n
}

func wait() time.Duration { return retry }

const late = "SELECT name FROM job WHERE "

func due(all bool) string {
	if all {
		return late + "done = 0"
	}
	return "UPDATE job SET done = 1 WHERE due <= ?"
}
