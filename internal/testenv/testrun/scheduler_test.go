package testrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
)

// acquirer is a Scheduler or a Client of one.
type acquirer interface {
	Acquire(ctx context.Context, r Request) (func(), error)
}

// queue makes requests one after the other and releases them by name.
type queue struct {
	t *testing.T
	s *Scheduler

	release map[string]chan struct{}
}

func (q *queue) request(name string, load int, kind Kind) {
	end := make(chan struct{})
	q.release[name] = end
	go func() {
		release, err := q.s.Acquire(q.t.Context(), Request{Name: name, Load: load, Kind: kind})
		if err != nil {
			return // the test has ended
		}
		<-end
		release()
	}()
	synctest.Wait()
}

func (q *queue) want(running ...string) {
	q.t.Helper()
	synctest.Wait()
	if got := q.s.Running(); !slices.Equal(got, running) {
		q.t.Errorf("running: %v, want %v", got, running)
	}
}

func (q *queue) end(names ...string) {
	for _, name := range names {
		close(q.release[name])
		synctest.Wait()
	}
}

func TestAcquire(t *testing.T) {
	for name, run := range map[string]func(q *queue){
		"fills_the_size_in_order": func(q *queue) {
			q.request("a", 3, "")
			q.request("b", 5, "")
			q.request("c", 2, "")
			q.request("d", 1, "")
			q.want("a", "b")
			q.end("a")
			q.want("b", "c", "d")
			q.end("b", "c", "d")
			q.want()
		},
		"lets_some_small_requests_pass_a_large_one": func(q *queue) {
			q.request("a", 7, "")
			q.request("large", 100, "") // as much as there is
			q.request("larger than the rest", 2, "")
			for i := range mostPassing {
				name := fmt.Sprint("small", i)
				q.request(name, 1, "")
				q.want("a", name)
				q.end(name)
			}
			q.request("late", 1, "")
			q.want("a")
			q.end("a")
			q.want("large")
			q.end("large")
			q.want("larger than the rest", "late")
			q.end("larger than the rest", "late")
		},
		"keeps_kinds_apart": func(q *queue) {
			q.request("b1", 1, Browser)
			q.request("c1", 1, Failover)
			q.request("b2", 1, Browser)
			q.request("any", 1, "")
			q.want("any", "b1", "b2")
			q.end("b1")
			q.want("any", "b2")
			q.end("b2")
			q.want("any", "c1")
			q.end("any", "c1")
		},
		"grants_the_largest_first": func(q *queue) {
			q.request("a", 8, "")
			q.request("small", 1, "")
			q.request("large", 8, "")
			q.end("a")
			q.want("large")
			q.end("large")
			q.want("small")
			q.end("small")
		},
		"counts_a_load_of_none_as_one": func(q *queue) {
			for _, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
				q.request(name, 0, "")
			}
			q.want("1", "2", "3", "4", "5", "6", "7", "8")
			q.end("1", "2", "3", "4", "5", "6", "7", "8", "9")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run(&queue{t: t, s: New(8), release: map[string]chan struct{}{}})
			})
		})
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	s := New(1)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	for name, a := range map[string]acquirer{"scheduler": s, "client": Connect(path)} {
		t.Run(name, func(t *testing.T) {
			release, err := a.Acquire(t.Context(), Request{Name: "first", Load: 1})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			second := make(chan error)
			go func() {
				_, err := a.Acquire(ctx, Request{Name: "second", Load: 1})
				second <- err
			}()
			cancel()
			if err := <-second; !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled request: %v", err)
			}
			if got := s.Running(); !slices.Equal(got, []string{"first"}) {
				t.Errorf("running: %v", got)
			}
			release()
			release, err = a.Acquire(t.Context(), Request{Name: "third", Load: 1}) // the first slot is free again
			if err != nil {
				t.Fatal(err)
			}
			release()
		})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := Connect(path).Acquire(t.Context(), Request{Name: "late"}); err == nil {
		t.Error("a slot without a scheduler")
	}
}
