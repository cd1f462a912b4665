package presence

import (
	"context"
	"errors"
	"slices"

	"redrain/internal/loop"
)

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
