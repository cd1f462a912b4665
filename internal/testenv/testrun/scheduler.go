package testrun

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// PerProcessor is the load of a processor that is always busy.
const PerProcessor = 3

// Kind separates tests that disturb each other. Tests of two different kinds never run at the same time; tests
// without a kind run beside both.
type Kind string

// The kinds.
const (
	Browser  Kind = "browser"  // draws in software, which takes all processors in bursts
	Failover Kind = "failover" // its servers declare each other dead after two seconds without an answer
)

// Request asks for a slot.
type Request struct {
	Name string `json:"name"`           // of the running test, for people
	Load int    `json:"load"`           // processors times [PerProcessor], on average; at least 1
	Kind Kind   `json:"kind,omitempty"` // empty: runs beside everything
}

// Scheduler grants slots as long as their loads fit into its size: the largest request first, then in order. A request
// that is too large for the free rest lets some smaller ones pass. One whose kind may not run yet waits until no
// request of the other kind is left. Its methods may be called from several goroutines.
type Scheduler struct {
	size int

	mu      sync.Mutex
	used    int
	running map[*ticket]struct{}
	waiting []*ticket
}

// mostPassing is the number of smaller requests that may pass one that does not fit.
const mostPassing = 8

// ticket is a request and its state.
type ticket struct {
	Request

	passing int           // later requests that were granted while this one did not fit
	granted chan struct{} // closed when the slot is granted
}

// New returns a Scheduler for the loads that size allows at the same time. A request for more gets all of it.
func New(size int) *Scheduler {
	return &Scheduler{size: size, running: map[*ticket]struct{}{}}
}

// ForMachine returns a Scheduler for all processors that this process may use, and for two at least. Most tests start a
// server, which must not wait for the test.
func ForMachine() *Scheduler { return New(PerProcessor * max(2, runtime.GOMAXPROCS(0))) }

// Acquire waits for a slot. It returns ctx's error if ctx ends before. The caller calls release once.
func (s *Scheduler) Acquire(ctx context.Context, r Request) (release func(), err error) {
	r.Load = min(max(r.Load, 1), s.size)
	t := &ticket{Request: r, granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, t)
	slices.SortStableFunc(s.waiting, func(a, b *ticket) int { return b.Load - a.Load })
	s.grant()
	s.mu.Unlock()
	select {
	case <-t.granted:
		return func() { s.leave(t) }, nil
	case <-ctx.Done():
		s.leave(t)
		return nil, ctx.Err()
	}
}

// Running returns the names of the requests that hold a slot, sorted.
func (s *Scheduler) Running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for t := range maps.Keys(s.running) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// leave ends a request, granted or not.
func (s *Scheduler) leave(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.running[t]; ok {
		delete(s.running, t)
		s.used -= t.Load
	} else {
		s.waiting = slices.DeleteFunc(s.waiting, func(other *ticket) bool { return other == t })
	}
	s.grant()
}

// grant starts the requests that may start. The caller holds the lock.
func (s *Scheduler) grant() {
	running := slices.Collect(maps.Keys(s.running))
	var waiting []*ticket
	var tooLarge *ticket // the first that does not fit
	for _, t := range s.waiting {
		switch {
		case tooLarge != nil && tooLarge.passing >= mostPassing, t.isDisturbedBy(running):
			waiting = append(waiting, t)
		case s.used+t.Load > s.size:
			waiting = append(waiting, t)
			tooLarge = cmp.Or(tooLarge, t)
		default:
			if tooLarge != nil {
				tooLarge.passing++
			}
			s.used += t.Load
			s.running[t] = struct{}{}
			running = append(running, t)
			close(t.granted)
		}
	}
	s.waiting = waiting
}

func (t *ticket) isDisturbedBy(others []*ticket) bool {
	return t.Kind != "" && slices.ContainsFunc(others, func(o *ticket) bool { return o.Kind != "" && o.Kind != t.Kind })
}
