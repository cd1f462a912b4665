package presence

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"redrain/internal/loop"
)

// State is a member's state.
type State int

const (
	// Here is a member on this node.
	Here State = iota
	// Lost is a member whose connection has broken. It may come back.
	Lost
	// Left is a member that has gone for good.
	Left
)

// Change is a member of a group whose state is to be written.
type Change[G, M comparable] struct {
	Group  G
	Member M
	State  State
}

// Options of a Tracker. All are required unless stated otherwise.
type Options[G, M comparable] struct {
	Part string // names the tracker in metrics, alarms and the log
	Work string // the description of Flush, for the log of an outage
	// Flush writes changes to where all nodes see them, at most 500. After an error or a panic the same changes come
	// again, except for members whose state has changed meanwhile. One Flush runs at a time.
	Flush func(ctx context.Context, changes []Change[G, M]) error
	// Every is the interval at which all members of this node are written again. Others expire for the readers.
	Every time.Duration
	// LeavesLate delays departures to the next write of all members, so that a member may come back meanwhile.
	LeavesLate bool
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
}

const (
	// atOnce is the most changes of one flush, which must end in flushWithin.
	atOnce = 500
	// flushWithin limits a flush.
	flushWithin = 5 * time.Second
	// enterWithin is the longest wait for a new member.
	enterWithin = 500 * time.Millisecond
	// retryFirst and retryMost are the pauses after a failed flush.
	retryFirst, retryMost = 100 * time.Millisecond, 5 * time.Second
)

// Tracker holds the members of groups on this node, and writes them for all nodes: arrivals and departures in batches,
// and all members periodically. A member may have several connections. It is safe for concurrent use; its Run must be
// started, once.
type Tracker[G, M comparable] struct {
	o    Options[G, M]
	wake loop.Wake
	over chan struct{} // closed when Run has ended

	mu      sync.Mutex
	groups  map[G]map[M]member
	pending map[key[G, M]]State // to be written
	failing bool                // the last flush has failed
}

type key[G, M comparable] struct {
	group  G
	member M
}

type member struct {
	connections int
	gone        State         // the pending departure that the first connection has replaced; Here: none
	written     chan struct{} // closed when the member was flushed, or could not be; nil: no caller waits for that
}

// NewTracker returns a tracker without members.
func NewTracker[G, M comparable](o Options[G, M]) *Tracker[G, M] {
	return &Tracker[G, M]{o: o, wake: loop.NewWake(), over: make(chan struct{}), groups: map[G]map[M]member{},
		pending: map[key[G, M]]State{}}
}

// Add counts a connection of a member that the caller has written, or is about to. It reports whether it is the
// member's first.
func (t *Tracker[G, M]) Add(group G, one M) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(group, one).connections == 1
}

// add needs t.mu.
func (t *Tracker[G, M]) add(group G, one M) member {
	k := key[G, M]{group, one}
	gone := t.pending[k]
	if gone != Here {
		delete(t.pending, k) // it has come back
	}
	if t.groups[group] == nil {
		t.groups[group] = map[M]member{}
	}
	m := t.groups[group][one]
	if m.connections++; m.connections == 1 {
		m.gone = gone
	}
	t.groups[group][one] = m
	return m
}

// wait waits until all nodes can see a member, at most enterWithin.
func (t *Tracker[G, M]) wait(ctx context.Context, written <-chan struct{}) {
	if written == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, enterWithin)
	defer cancel()
	select {
	case <-written:
	case <-t.over:
	case <-ctx.Done():
		t.o.Log.Debug("write a new member; other nodes do not have it yet", "part", t.o.Part, "err", ctx.Err())
	}
}

// enter counts a connection of a member and writes it, and closes written afterwards. written is nil if no wait is
// needed, also while flushes fail.
func (t *Tracker[G, M]) enter(group G, one M) (written <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.add(group, one)
	if m.connections == 1 {
		m.written = make(chan struct{})
		t.groups[group][one] = m
		t.pending[key[G, M]{group, one}] = Here
		t.wake.Signal()
	}
	if t.failing {
		return nil
	}
	return m.written
}

// Remove undoes Add. A departure that Add has replaced is pending again.
func (t *Tracker[G, M]) Remove(group G, one M) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := t.groups[group][one].gone
	if !t.remove(group, one) || gone == Here {
		return
	}
	t.pending[key[G, M]{group, one}] = gone
	if !t.o.LeavesLate {
		t.wake.Signal()
	}
}

// remove needs t.mu. It reports whether it was the member's last connection.
func (t *Tracker[G, M]) remove(group G, one M) (last bool) {
	m, isHere := t.groups[group][one]
	if !isHere {
		return false
	}
	if m.connections--; m.connections > 0 {
		t.groups[group][one] = m
		return false
	}
	if delete(t.groups[group], one); len(t.groups[group]) == 0 {
		delete(t.groups, group)
	}
	return true
}

// Leave ends a connection. If it was the member's last one, the state is written and Leave returns true. A connection
// that was not counted has no effect.
func (t *Tracker[G, M]) Leave(group G, one M, state State) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.remove(group, one) {
		return false
	}
	t.pending[key[G, M]{group, one}] = state
	if !t.o.LeavesLate {
		t.wake.Signal()
	}
	return true
}

// Disown removes a member that is written as one of this node and is not here.
func (t *Tracker[G, M]) Disown(group G, one M) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(group, one) {
		t.pending[key[G, M]{group, one}] = Left
		t.wake.Signal()
	}
}

// Has reports whether a member is here.
func (t *Tracker[G, M]) Has(group G, one M) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.has(group, one)
}

// has needs t.mu.
func (t *Tracker[G, M]) has(group G, one M) bool {
	_, isHere := t.groups[group][one]
	return isHere
}

// Members returns a group's members on this node, in no order.
func (t *Tracker[G, M]) Members(group G) []M {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.groups[group]))
}

// Count returns the number of a group's members on this node.
func (t *Tracker[G, M]) Count(group G) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.groups[group])
}

// Groups returns the number of groups that have members on this node.
func (t *Tracker[G, M]) Groups() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.groups)
}

// Run flushes until ctx ends, and runs other loops beside that.
func (t *Tracker[G, M]) Run(ctx context.Context, others ...loop.Spec) error {
	defer close(t.over)
	return loop.Run(ctx, append(others, loop.Spec{
		Part: t.o.Part, Work: t.o.Work, Every: t.o.Every, Wake: t.wake, Retry: retryFirst, RetryMost: retryMost,
		Do: t.Keep, Woken: func(ctx context.Context) error { return t.flushPending(ctx, map[key[G, M]]bool{}) },
		Recoverer: t.o.Recoverer, Log: t.o.Log,
	})...)
}

// Keep writes all members of this node, and each pending change once. It goes on after a failure: the next members may
// be on a server that answers. Run calls it.
func (t *Tracker[G, M]) Keep(ctx context.Context) (failed error) {
	tried := map[key[G, M]]bool{}
	for some := range slices.Chunk(t.all(), atOnce) {
		failed = errors.Join(failed, t.flush(ctx, some), t.flushPending(ctx, tried)) // arrivals do not wait for all
	}
	return errors.Join(failed, t.flushPending(ctx, tried))
}

// all returns the members of this node.
func (t *Tracker[G, M]) all() (all []key[G, M]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for group, members := range t.groups {
		for one := range members {
			all = append(all, key[G, M]{group, one})
		}
	}
	return all
}

// flushPending writes the pending changes that are not in tried, and adds them to tried.
func (t *Tracker[G, M]) flushPending(ctx context.Context, tried map[key[G, M]]bool) (failed error) {
	t.mu.Lock()
	var due []key[G, M]
	for k := range t.pending {
		if !tried[k] {
			tried[k] = true
			due = append(due, k)
		}
	}
	t.mu.Unlock()
	for some := range slices.Chunk(due, atOnce) {
		failed = errors.Join(failed, t.flush(ctx, some))
	}
	return failed
}

// flush writes some members that are still here, and their pending changes.
func (t *Tracker[G, M]) flush(ctx context.Context, some []key[G, M]) error {
	changes, waiting := t.take(some)
	if len(changes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	err := t.o.Recoverer.Try(t.o.Part, func() error { return t.o.Flush(ctx, changes) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(waiting)
	if t.failing = err != nil; t.failing {
		t.restore(changes)
	}
	return err
}

// take returns the changes of some members. waiting are the channels of those for which callers wait.
func (t *Tracker[G, M]) take(some []key[G, M]) (changes []Change[G, M], waiting map[key[G, M]]chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting = map[key[G, M]]chan struct{}{}
	for _, k := range some {
		state := t.pending[k] // Here if nothing is pending
		delete(t.pending, k)
		if state == Here && !t.has(k.group, k.member) {
			continue
		}
		changes = append(changes, Change[G, M]{k.group, k.member, state})
		if written := t.groups[k.group][k.member].written; written != nil {
			waiting[k] = written
		}
	}
	return changes, waiting
}

// release ends the wait for members that were flushed, or could not be. It needs t.mu.
func (t *Tracker[G, M]) release(waiting map[key[G, M]]chan struct{}) {
	for k, written := range waiting {
		close(written)
		if m := t.groups[k.group][k.member]; m.written == written {
			m.written = nil
			t.groups[k.group][k.member] = m
		}
	}
}

// restore makes departures that could not be written pending again, unless there are newer changes: Keep writes all
// members who are here. It needs t.mu.
func (t *Tracker[G, M]) restore(changes []Change[G, M]) {
	for _, c := range changes {
		k := key[G, M]{c.Group, c.Member}
		if _, isNewer := t.pending[k]; !isNewer && c.State != Here && !t.has(k.group, k.member) {
			t.pending[k] = c.State
		}
	}
}
