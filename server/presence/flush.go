package presence

import (
	"context"
	"slices"

	"redrain/internal/loop"
)

// Run flushes until ctx ends, and runs other loops beside that.
func (t *Tracker[G, M]) Run(ctx context.Context, others ...loop.Spec) error {
	defer close(t.over)
	return loop.Run(ctx, append(others, loop.Spec{
		Part: t.o.Part, Work: t.o.Work, Every: t.o.Every, Wake: t.wake, Retry: retryFirst, RetryMost: retryMost,
		Do: t.Keep, Woken: func(ctx context.Context) error { return t.flush(ctx, nil) },
		Recoverer: t.o.Recoverer, Log: t.o.Log,
	})...)
}

// Keep writes all members of this node, and all departures. Run calls it.
func (t *Tracker[G, M]) Keep(ctx context.Context) error {
	for some := range slices.Chunk(t.all(), atOnce) {
		if err := t.flush(ctx, some); err != nil {
			return err
		}
	}
	return t.flush(ctx, nil)
}

// all returns the members of this node; none if they are not kept alive.
func (t *Tracker[G, M]) all() (all []key[G, M]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.o.Every == 0 {
		return nil
	}
	for group, members := range t.groups {
		for one := range members {
			all = append(all, key[G, M]{group, one})
		}
	}
	return all
}

// flush writes what is pending, and some members if they are still here.
func (t *Tracker[G, M]) flush(ctx context.Context, some []key[G, M]) error {
	batch, waiting := t.take(some)
	if len(batch) == 0 {
		return nil
	}
	defer t.release(waiting) // also after a panic
	changes := make([]Change[G, M], 0, len(batch))
	for k, state := range batch {
		changes = append(changes, Change[G, M]{k.group, k.member, state})
	}
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	err := t.o.Flush(ctx, changes)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failing = err != nil
	if err == nil {
		return nil
	}
	for k, state := range batch {
		if _, isNewer := t.pending[k]; !isNewer && t.has(k.group, k.member) == (state == Here) {
			t.pending[k] = state
		}
	}
	return err
}

// release ends the wait for members that were flushed, or could not be.
func (t *Tracker[G, M]) release(waiting map[key[G, M]]chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, written := range waiting {
		close(written)
		if m := t.groups[k.group][k.member]; m.written == written {
			m.written = nil
			t.groups[k.group][k.member] = m
		}
	}
}

// take takes what is pending, and some members if they are still here. waiting are the channels of those for which
// callers of Enter wait.
func (t *Tracker[G, M]) take(some []key[G, M]) (batch map[key[G, M]]State, waiting map[key[G, M]]chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	batch, t.pending = t.pending, map[key[G, M]]State{}
	for _, k := range some {
		if t.has(k.group, k.member) {
			batch[k] = Here
		}
	}
	waiting = map[key[G, M]]chan struct{}{}
	for k, state := range batch {
		if state == Here && !t.has(k.group, k.member) {
			delete(batch, k)
			continue
		}
		if written := t.groups[k.group][k.member].written; written != nil {
			waiting[k] = written
		}
	}
	return batch, waiting
}
